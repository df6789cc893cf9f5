# SPDX-License-Identifier: MIT
"""The structures of the C interface, as include/muster/*.h has them, and the functions that this package calls.

Nothing here decides anything: tests/test_abi.py compares each structure with the headers by a C compiler, and each
function with its prototype. A structure with `size` first is made by new(), which sets it.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Type, TypeVar

S = c_char_p  # a string that ends with a NUL
P = c_void_p  # an object of the library, bytes of any kind, or an array


class Struct(ctypes.Structure):
    """A structure that refuses numbers that it would cut off."""

    c_name = ""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if type(value) is int and value and getattr(self, name) != value:
            raise OverflowError(f"{name}: {value} is too large")


class Bytes(Struct):
    c_name = "muster_bytes"
    _fields_ = [("data", P), ("len", c_size_t)]


class ClientOptions(Struct):
    c_name = "muster_client_options"
    _fields_ = [
        ("size", c_size_t),
        ("url", S),
        ("prefix", S),
        ("timeout_ms", c_int),
        ("max_task_len", c_size_t),
        ("redis", P),
        ("user", S),
        ("password", S),
        ("tls_ca", S),
        ("tls_cert", S),
        ("tls_key", S),
        ("tls_server_name", S),
        ("sentinel_user", S),
        ("sentinel_password", S),
        ("tls_insecure", c_int),
        ("replicas", c_int),
        ("replicas_ms", c_int),
        ("fsync", c_int),
    ]


class EnqueueOptions(Struct):
    c_name = "muster_enqueue_options"
    _fields_ = [("size", c_size_t), ("at_front", c_int), ("request_id", S)]


class Task(Struct):
    c_name = "muster_task"
    _fields_ = [("position", c_uint64), ("data", P), ("len", c_size_t), ("job", S), ("whole_len", c_uint64)]


class QueueInfo(Struct):
    c_name = "muster_queue_info"
    _fields_ = [
        ("name", S),
        ("waiting", c_uint64),
        ("running", c_uint64),
        ("delayed", c_uint64),
        ("depends", c_uint64),
        ("recurring", c_uint64),
        ("complete", c_uint64),
        ("failed", c_uint64),
        ("cancelled", c_uint64),
        ("idle", c_uint64),
        ("paused", c_int),
        ("failed_bytes", c_uint64),
        ("failed_dropped", c_uint64),
        ("in", c_uint64),
        ("out", c_uint64),
        ("oldest_ms", c_int64),
        ("oldest_error_ms", c_int64),
        ("share_even", c_int),
        ("hands", c_uint64),
        ("moved", c_uint64),
        ("held", c_uint64),
        ("stalled", c_uint64),
        ("died", c_uint64),
    ]


class WorkerShare(Struct):
    c_name = "muster_worker_share"
    _fields_ = [("queue", S), ("hands", c_uint64), ("holds", c_uint64), ("least", c_uint64), ("most", c_uint64)]


class WorkerInfo(Struct):
    c_name = "muster_worker_info"
    _fields_ = [
        ("id", S),
        ("epoch", c_uint64),
        ("host", S),
        ("version", S),
        ("pid", c_int64),
        ("alive", c_int),
        ("permanent", c_int),
        ("heard_ms", c_int64),
        ("ttl_ms", c_int64),
        ("started_at_ms", c_int64),
        ("hands", c_uint64),
        ("held", c_uint64),
        ("queues", POINTER(S)),
        ("n_queues", c_size_t),
        ("shares", POINTER(WorkerShare)),
        ("n_shares", c_size_t),
    ]


class Backoff(Struct):
    c_name = "muster_backoff"
    _fields_ = [("delay_ms", c_int64), ("max_ms", c_int64), ("exponential", c_int), ("jitter_percent", c_int)]


class JobEventLine(Struct):
    c_name = "muster_job_event_line"
    _fields_ = [("at_ms", c_int64), ("what", S), ("text", S)]


class Job(Struct):
    c_name = "muster_job"
    _fields_ = [
        ("id", S),
        ("queue", S),
        ("state", c_int),
        ("data", Bytes),
        ("priority", c_int),
        ("retries", c_int),
        ("retried", c_int),
        ("crashes", c_int),
        ("tracked", c_int),
        ("cancelled", c_int),
        ("backlog", c_int),
        ("put_at_ms", c_int64),
        ("since_ms", c_int64),
        ("due_at_ms", c_int64),
        ("limit_ms", c_int64),
        ("every_ms", c_int64),
        ("backoff", Backoff),
        ("made", c_uint64),
        ("worker", S),
        ("process", S),
        ("group", S),
        ("message", Bytes),
        ("result", Bytes),
        ("tags", POINTER(S)),
        ("n_tags", c_size_t),
        ("after", POINTER(S)),
        ("n_after", c_size_t),
        ("before", POINTER(S)),
        ("n_before", c_size_t),
        ("history", POINTER(JobEventLine)),
        ("n_history", c_size_t),
        ("unique", c_int),
        ("batch", S),
        ("cron", S),
        ("zone", S),
        ("ticks", POINTER(c_int64)),
        ("n_ticks", c_size_t),
        ("from_ms", c_int64),
        ("until_ms", c_int64),
        ("count", c_int64),
        ("overlap", c_int),
        ("queued", c_int),
        ("made_by", S),
        ("key", S),
        ("after_end", POINTER(S)),
        ("n_after_end", c_size_t),
        ("after_failure", POINTER(S)),
        ("n_after_failure", c_size_t),
        ("parents", POINTER(S)),
        ("n_parents", c_size_t),
        ("blocked_by", POINTER(S)),
        ("n_blocked_by", c_size_t),
        ("holder", S),
        ("whole_len", c_uint64),
        ("whole_result_len", c_uint64),
        ("whole_before", c_uint64),
    ]


class ProcessInfo(Struct):
    c_name = "muster_process_info"
    _fields_ = [
        ("id", S),
        ("worker", S),
        ("queue", S),
        ("job", S),
        ("record", POINTER(Job)),
        ("token", c_uint64),
        ("started_at_ms", c_int64),
        ("ends_at_ms", c_int64),
        ("cancelled", c_int),
        ("progress", S),
        ("task", P),
        ("len", c_size_t),
        ("holder", S),
        ("whole_len", c_uint64),
    ]


class ProcessFilter(Struct):
    c_name = "muster_process_filter"
    _fields_ = [("size", c_size_t), ("queue", S), ("worker", S), ("task", POINTER(Bytes)), ("holder", S)]


class TakeOptions(Struct):
    c_name = "muster_take_options"
    _fields_ = [("size", c_size_t), ("n", c_size_t), ("lease_ms", c_int64), ("wait_ms", c_int64), ("holder", S)]


class FinishOptions(Struct):
    c_name = "muster_finish_options"
    _fields_ = [
        ("size", c_size_t),
        ("result", POINTER(Bytes)),
        ("next", S),
        ("delay_ms", c_int64),
        ("after", POINTER(S)),
        ("n_after", c_size_t),
    ]


class LeaseEnd(Struct):
    c_name = "muster_lease_end"
    _fields_ = [
        ("size", c_size_t),
        ("process", S),
        ("outcome", c_int),
        ("result", POINTER(Bytes)),
        ("group", S),
        ("message", S),
        ("delay_ms", c_int64),
        ("next", S),
        ("after", POINTER(S)),
        ("n_after", c_size_t),
    ]


class ExtendOptions(Struct):
    c_name = "muster_extend_options"
    _fields_ = [("size", c_size_t), ("lease_ms", c_int64), ("progress", S), ("data", POINTER(Bytes))]


class Failure(Struct):
    c_name = "muster_failure"
    _fields_ = [
        ("entry", S),
        ("queue", S),
        ("process", S),
        ("worker", S),
        ("group", S),
        ("message", Bytes),
        ("failed_at_ms", c_int64),
        ("job", S),
        ("task", P),
        ("len", c_size_t),
        ("whole_len", c_uint64),
        ("holder", S),
    ]


class FailedFilter(Struct):
    c_name = "muster_failed_filter"
    _fields_ = [
        ("size", c_size_t),
        ("queue", S),
        ("group", S),
        ("entries", POINTER(S)),
        ("n_entries", c_size_t),
        ("offset", c_uint64),
        ("n", c_uint64),
    ]


class FailedGroup(Struct):
    c_name = "muster_failed_group"
    _fields_ = [("queue", S), ("group", S), ("n", c_uint64)]


class JobSpec(Struct):
    c_name = "muster_job_spec"
    _fields_ = [
        ("size", c_size_t),
        ("id", S),
        ("data", Bytes),
        ("priority", c_int),
        ("retries", c_int),
        ("track", c_int),
        ("replace", c_int),
        ("backlog", c_int),
        ("delay_ms", c_int64),
        ("limit_ms", c_int64),
        ("every_ms", c_int64),
        ("offset_ms", c_int64),
        ("tags", POINTER(S)),
        ("n_tags", c_size_t),
        ("after", POINTER(S)),
        ("n_after", c_size_t),
        ("backoff", POINTER(Backoff)),
        ("batch", S),
        ("at_ms", c_int64),
        ("cron", S),
        ("zone", S),
        ("from_ms", c_int64),
        ("until_ms", c_int64),
        ("count", c_int64),
        ("overlap", c_int),
        ("may_be_missing", c_int),
        ("key", S),
        ("after_end", POINTER(S)),
        ("n_after_end", c_size_t),
        ("after_failure", POINTER(S)),
        ("n_after_failure", c_size_t),
    ]


class JobPutOptions(Struct):
    c_name = "muster_job_put_options"
    _fields_ = [("size", c_size_t), ("request_id", S), ("ids", P), ("refused", POINTER(c_size_t))]


class JobEnded(Struct):
    c_name = "muster_job_ended"
    _fields_ = [("id", S), ("how", c_int), ("job", POINTER(Job))]


class JobParent(Struct):
    c_name = "muster_job_parent"
    _fields_ = [("id", S), ("job", POINTER(Job))]


class JobFilter(Struct):
    c_name = "muster_job_filter"
    _fields_ = [
        ("size", c_size_t),
        ("queue", S),
        ("tag", S),
        ("tags", POINTER(S)),
        ("n_tags", c_size_t),
        ("group", S),
        ("state", c_int),
        ("by_state", c_int),
        ("tracked", c_int),
        ("offset", c_uint64),
        ("n", c_uint64),
        ("any_tag", c_int),
        ("order", c_int),
        ("past_id", S),
        ("past_ms", c_int64),
    ]


class Setting(Struct):
    c_name = "muster_setting"
    _fields_ = [
        ("name", S),
        ("what", S),
        ("from", S),
        ("value", c_int64),
        ("fallback", c_int64),
        ("least", c_int64),
        ("most", c_int64),
    ]


class Times(Struct):
    c_name = "muster_times"
    _fields_ = [("n", c_uint64), ("mean_ms", c_double), ("deviation_ms", c_double), ("histogram", c_uint64 * 48)]


class Stats(Struct):
    c_name = "muster_stats"
    _fields_ = [
        ("size", c_size_t),
        ("day", c_int64),
        ("put", c_uint64),
        ("taken", c_uint64),
        ("completed", c_uint64),
        ("failed", c_uint64),
        ("retried", c_uint64),
        ("crashed", c_uint64),
        ("cancelled", c_uint64),
        ("wait", Times),
        ("run", Times),
        ("stalled", c_uint64),
        ("died", c_uint64),
    ]


class Follower(Struct):
    c_name = "muster_follower"
    _fields_ = [("queue", S), ("data", Bytes)]


class BatchSpec(Struct):
    c_name = "muster_batch_spec"
    _fields_ = [
        ("size", c_size_t),
        ("id", S),
        ("batch", S),
        ("ttl_ms", c_int64),
        ("on_end", Follower),
        ("on_complete", Follower),
        ("on_failure", Follower),
    ]


class Followed(Struct):
    c_name = "muster_followed"
    _fields_ = [("queue", S), ("job", S)]


class Batch(Struct):
    c_name = "muster_batch"
    _fields_ = [
        ("id", S),
        ("state", c_int),
        ("batch", S),
        ("depth", c_int),
        ("is_cancelled", c_int),
        ("closed_by", S),
        ("opened_at_ms", c_int64),
        ("closed_at_ms", c_int64),
        ("since_ms", c_int64),
        ("due_at_ms", c_int64),
        ("ttl_ms", c_int64),
        ("members", c_uint64),
        ("left", c_uint64),
        ("complete", c_uint64),
        ("failed", c_uint64),
        ("cancelled", c_uint64),
        ("gone", c_uint64),
        ("first_failed", S),
        ("on_end", Followed),
        ("on_complete", Followed),
        ("on_failure", Followed),
    ]


class WorkerOptions(Struct):
    c_name = "muster_worker_options"
    _fields_ = [
        ("size", c_size_t),
        ("url", S),
        ("prefix", S),
        ("id", S),
        ("base", P),
        ("data", P),
        ("subscription", P),
        ("ttl_ms", c_int),
        ("hands", c_int),
        ("threads", c_int),
        ("prefetch", c_int),
        ("permanent", c_int),
        ("resume", c_int),
        ("drain_ms", c_int),
        ("burst", c_int),
        ("in_turn", c_int),
        ("max_tasks", c_uint64),
        ("limit_ms", c_int64),
        ("on_limit", c_int),
        ("on_doubt", c_int),
        ("on_event", P),
        ("on_end", P),
        ("arg", P),
        ("user", S),
        ("password", S),
        ("tls_ca", S),
        ("tls_cert", S),
        ("tls_key", S),
        ("tls_server_name", S),
        ("sentinel_user", S),
        ("sentinel_password", S),
        ("tls_insecure", c_int),
        ("replicas", c_int),
        ("replicas_ms", c_int),
        ("fsync", c_int),
        ("own_thread", c_int),
        ("tell_ended", c_int),
    ]


class Item(Struct):
    c_name = "muster_item"
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("event", c_int),
        ("err", c_int),
        ("reserved", c_int),
        ("process", P),
        ("user", P),
        ("id", P),
        ("queue", P),
        ("job", P),
        ("text", P),
        ("task", P),
        ("len", c_size_t),
        ("token", c_uint64),
        ("waiting", c_uint64),
    ]


class AsyncOptions(Struct):
    c_name = "muster_async_options"
    _fields_ = [("size", c_size_t), ("client", POINTER(ClientOptions)), ("max_in_flight", c_size_t), ("max_bytes", c_size_t)]


class Answer(Struct):
    c_name = "muster_answer"
    _fields_ = [
        ("size", c_size_t),
        ("fn", P),
        ("arg", P),
        ("err", c_int),
        ("reserved", c_int),
        ("text", P),
        ("waiting", c_uint64),
        ("processes", P),
        ("n", c_size_t),
        ("job", P),
        ("id", P),
    ]


class ListenerOptions(Struct):
    c_name = "muster_listener_options"
    _fields_ = [("size", c_size_t), ("client", POINTER(ClientOptions)), ("max_heard", c_size_t), ("max_bytes", c_size_t)]


class JobHappening(Struct):
    c_name = "muster_job_event"
    _fields_ = [
        ("what", S),
        ("id", S),
        ("queue", S),
        ("worker", S),
        ("text", S),
        ("at_ms", c_int64),
        ("tracked", c_int),
    ]


class Heard(Struct):
    c_name = "muster_heard"
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("err", c_int),
        ("queue", S),
        ("text", S),
        ("process", S),
        ("worker", S),
        ("task", P),
        ("len", c_size_t),
        ("result", POINTER(Bytes)),
        ("job", POINTER(JobHappening)),
        ("holder", S),
    ]


_T = TypeVar("_T", bound=Struct)


def new(kind: Type[_T], **fields: Any) -> _T:
    """A structure that begins with its size."""
    made = kind(**fields)
    made.size = ctypes.sizeof(kind)
    return made


# A row of struct muster_item as struct.unpack() reads it: at a tenth of what a field of a ctypes structure costs.
ITEM = struct.Struct("@N4i7PN2Q")

ANSWER = struct.Struct("@N2P2iPQPN2P")  # struct muster_answer, in the same way

# What ends a row of a list: called with the row and an argument, on the thread that called.
ROW = ctypes.CFUNCTYPE(c_int, P, P)
READY = ctypes.CFUNCTYPE(c_int, P)

# ---- the enumerations, by the names that they have in C

CONSTANTS = {
    "MUSTER_FINISH": 0,
    "MUSTER_GIVE_BACK": 1,
    "MUSTER_RETRY": 2,
    "MUSTER_FAIL": 3,
    "MUSTER_LATER": 4,
    "MUSTER_ITEM_PROCESS": 1,
    "MUSTER_ITEM_EVENT": 2,
    "MUSTER_ITEM_ANSWER": 3,
    "MUSTER_ZERO": -1000000007,
    "MUSTER_JOB_ID_MAX": 200,
    "MUSTER_BATCH_ID_MAX": 160,
    "MUSTER_DOUBT_STOP": 0,
    "MUSTER_DOUBT_RUN": 1,
}

# In the order of their numbers, from 0.
EVENTS = (
    "started",
    "doubt",
    "lost",
    "down",
    "up",
    "stop",
    "uncounted",
    "swept",
    "cancel",
    "deleted",
    "near_limit",
    "left",
    "refused",
    "alone",
    "not_resumed",
    "stopped",
    "dropped",
    "risk",
    "cut",
    "ended",
    "left_out",
)
LISTEN_KINDS = ("done", "cancelled", "deleted", "jobs")  # bits, from 1
HEARD = ("ready", "gap", "done", "cancelled", "deleted", "job")  # from 1
STOP_REASONS = ("go_on", "cancelled", "lost", "limit", "drain", "move")
FINISH = CONSTANTS["MUSTER_FINISH"]
GIVE_BACK = CONSTANTS["MUSTER_GIVE_BACK"]
RETRY = CONSTANTS["MUSTER_RETRY"]
FAIL = CONSTANTS["MUSTER_FAIL"]
ITEM_PROCESS = CONSTANTS["MUSTER_ITEM_PROCESS"]
ITEM_EVENT = CONSTANTS["MUSTER_ITEM_EVENT"]
ZERO = CONSTANTS["MUSTER_ZERO"]

# ---- the functions: what each returns, and takes

_U64 = POINTER(c_uint64)
_STRINGS = POINTER(S)

# These may wait for Redis: other threads of Python run meanwhile.
BLOCKING: dict[str, tuple[Any, ...]] = {
    "muster_client_free": (None, P),
    "muster_task_enqueue": (c_int, P, S, S, c_size_t, _U64),
    "muster_task_enqueue_many": (c_int, P, S, P, c_size_t, POINTER(EnqueueOptions), _U64),
    "muster_task_enqueue_unique": (c_int, P, S, S, c_size_t, P),
    "muster_task_peek": (c_int, P, S, c_uint64, c_uint64, ROW, P),
    "muster_task_cancel": (c_int, P, S, S, c_size_t, _U64, _U64),
    "muster_queue_length": (c_int, P, S, _U64),
    "muster_queue_list": (c_int, P, ROW, P),
    "muster_queue_get": (c_int, P, S, POINTER(QueueInfo)),
    "muster_queue_pause": (c_int, P, S),
    "muster_queue_resume": (c_int, P, S),
    "muster_queue_delete": (c_int, P, S, _U64, _U64),
    "muster_worker_list": (c_int, P, ROW, P),
    "muster_worker_fail": (c_int, P, S, _U64),
    "muster_client_sweep": (c_int, P, _U64),
    "muster_client_time": (c_int, P, POINTER(c_int64)),
    "muster_process_list": (c_int, P, POINTER(ProcessFilter), ROW, P),
    "muster_process_cancel": (c_int, P, S),
    "muster_lease_take_as": (c_int, P, S, POINTER(TakeOptions), ROW, P),
    "muster_lease_finish": (c_int, P, S, POINTER(FinishOptions)),
    "muster_lease_give_back": (c_int, P, S),
    "muster_lease_retry_as": (c_int, P, S, c_int64, S, S),
    "muster_lease_fail": (c_int, P, S, S, S),
    "muster_lease_extend": (c_int, P, S, POINTER(ExtendOptions)),
    "muster_lease_end_many": (c_int, P, POINTER(LeaseEnd), c_size_t, POINTER(c_int)),
    "muster_lease_extend_many": (c_int, P, _STRINGS, c_size_t, POINTER(ExtendOptions), POINTER(c_int)),
    "muster_failed_list": (c_int, P, POINTER(FailedFilter), ROW, P),
    "muster_failed_groups": (c_int, P, S, ROW, P),
    "muster_failed_replay": (c_int, P, POINTER(FailedFilter), _U64),
    "muster_failed_drop": (c_int, P, POINTER(FailedFilter), _U64),
    "muster_job_put_many": (c_int, P, S, P, c_size_t, POINTER(JobPutOptions), POINTER(c_size_t)),
    "muster_job_get": (c_int, P, _STRINGS, c_size_t, ROW, P),
    "muster_job_peek": (c_int, P, _STRINGS, c_size_t, ROW, P),
    "muster_job_parents": (c_int, P, S, ROW, P),
    "muster_job_wait": (c_int, P, _STRINGS, c_size_t, c_int64, ROW, P),
    "muster_job_list": (c_int, P, POINTER(JobFilter), ROW, P),
    "muster_job_counts": (c_int, P, S, P),
    "muster_job_cancel": (c_int, P, _STRINGS, c_size_t, c_int, _U64, _U64),
    "muster_stats_get": (c_int, P, S, c_int64, POINTER(Stats)),
    "muster_config_get": (c_int, P, S, S, ROW, P),
    "muster_config_set": (c_int, P, S, S, POINTER(c_int64)),
    "muster_batch_open": (c_int, P, POINTER(BatchSpec), P),
    "muster_batch_close": (c_int, P, S),
    "muster_batch_cancel": (c_int, P, S, _U64, _U64),
    "muster_batch_get": (c_int, P, S, ROW, P),
    "muster_batch_list": (c_int, P, ROW, P),
    "muster_worker_start": (c_int, P),
    "muster_worker_serve": (c_int, P, S, c_int, P, P),
    "muster_worker_leave": (c_int, P, S),
    "muster_worker_free": (None, P),
    "muster_async_free": (None, P),
    "muster_listener_free": (None, P),
}

# These wait for nobody. They keep the interpreter's lock: to let go of it and to get it again costs more than the call,
# and may take five milliseconds while another thread computes.
QUICK: dict[str, tuple[Any, ...]] = {
    "muster_version": (S,),
    "muster_err_name": (S, c_int),
    "muster_err_text": (S, c_int),
    "muster_client_new": (c_int, POINTER(P), POINTER(ClientOptions)),
    "muster_client_options_check": (S, POINTER(ClientOptions)),
    "muster_client_error": (S, P),
    "muster_client_interrupt": (c_int, P),
    "muster_client_interrupt_take_back": (c_int, P),
    "muster_job_spec_check": (S, POINTER(JobSpec)),
    "muster_worker_new": (c_int, POINTER(P), POINTER(WorkerOptions)),
    "muster_worker_options_check": (S, POINTER(WorkerOptions)),
    "muster_worker_id": (S, P),
    "muster_worker_error": (S, P),
    "muster_worker_fd": (c_int, P),
    "muster_worker_next": (c_size_t, P, P, c_size_t),
    "muster_worker_stop": (c_int, P, c_int),
    "muster_worker_enqueue": (c_int, P, S, S, c_size_t, P, P),
    "muster_process_id": (S, P),
    "muster_process_job": (POINTER(Job), P),
    "muster_process_stop_reason": (c_int, P),
    "muster_process_move_ms": (c_int64, P),
    "muster_process_stay": (c_int, P, c_int64),
    "muster_process_set_user": (None, P, P),
    "muster_process_set_retry": (c_int, P, c_int64),
    "muster_process_set_failure": (c_int, P, S, S),
    "muster_process_set_result": (c_int, P, S, c_size_t),
    "muster_process_set_next": (c_int, P, S, c_int64, _STRINGS, c_size_t),
    "muster_process_set_data": (c_int, P, S, c_size_t),
    "muster_process_progress": (c_int, P, S),
    "muster_process_extend": (c_int, P, c_int64),
    "muster_process_end": (c_int, P, c_int),
    "muster_process_end_many": (c_int, P, c_size_t, c_int),
    "muster_async_new": (c_int, POINTER(P), POINTER(AsyncOptions)),
    "muster_async_options_check": (S, POINTER(AsyncOptions)),
    "muster_async_error": (S, P),
    "muster_async_fd": (c_int, P),
    "muster_async_next": (c_size_t, P, P, c_size_t),
    "muster_async_enqueue": (c_int, P, S, S, c_size_t, P, P),
    "muster_async_put": (c_int, P, S, POINTER(JobSpec), P, P),
    "muster_async_take": (c_int, P, S, c_size_t, c_int64, c_int64, P, P),
    "muster_async_finish": (c_int, P, S, POINTER(FinishOptions), P, P),
    "muster_async_give_back": (c_int, P, S, P, P),
    "muster_async_retry_as": (c_int, P, S, c_int64, S, S, P, P),
    "muster_async_fail": (c_int, P, S, S, S, P, P),
    "muster_async_extend": (c_int, P, S, POINTER(ExtendOptions), P, P),
    "muster_async_length": (c_int, P, S, P, P),
    "muster_listener_new": (c_int, POINTER(P), POINTER(ListenerOptions)),
    "muster_listener_options_check": (S, POINTER(ListenerOptions)),
    "muster_listener_error": (S, P),
    "muster_listener_fd": (c_int, P),
    "muster_listener_next": (c_size_t, P, P, c_size_t),
    "muster_listener_add": (c_int, P, S, c_int),
    "muster_listener_remove": (c_int, P, S),
    "muster_worker_put": (c_int, P, S, POINTER(JobSpec), P, P),
}