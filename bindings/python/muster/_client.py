# SPDX-License-Identifier: MIT
"""The blocking client."""

from __future__ import annotations

import ctypes
import inspect
import threading
from array import array
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Iterable, Optional, Sequence, Union

from . import _abi, _rows
from ._caller import Caller
from ._core import log
from ._errors import Cancelled, Error, Exhausted, Interrupted, Invalid, Lost, NotFound
from ._handling import Fail, GiveBack, Retry, group_of, message_of
from ._library import (
    Data,
    Text,
    c_bytes,
    check_life,
    check_rows,
    data,
    error,
    lib,
    life,
    ms,
    name,
    name_or_none,
    names,
    rows,
    text,
)
from ._rows import Batch, Ended, Failure, Follower, Job, JobSpec, ProcessInfo, Queue, QueueStats, Setting, Waiting, WorkerInfo

_IDS = _abi.CONSTANTS["MUSTER_JOB_ID_MAX"] + 1


def _count(n: Optional[int]) -> int:
    """0 means "all" in C."""
    if n is not None and n < 1:
        raise Invalid(f"n is at least 1, or None for all: {n}")
    return n or 0


class Lease:
    """A task or job that was taken under a lease. It is to be ended, once: by finish(), give_back(), retry() or fail().

        for lease in client.take("mail", lease=60):
            with lease:
                send(lease.task)

    As a context manager it is ended with the block: finished; or, after an exception, failed with the exception as
    group and message - a job is retried by its own retries first. After one that is no fault of the task's, as
    KeyboardInterrupt, SystemExit and others that are not an `Exception`, or GiveBack, it is given back to the front of
    its queue. Retry and Fail say it in detail. If the block has ended the lease itself, nothing more is done. If the
    lease lapsed meanwhile, the end of the block raises Lost.
    """

    def __init__(self, client: "Client", info: ProcessInfo, record: Optional[Job]) -> None:
        self._client = client
        self._ended = False
        self.info = info
        """As a row of Client.processes()."""
        self.id = info.id
        self.queue = info.queue
        self.task = info.task
        self.job = record
        """The job's record, without its history; None: it is a task."""
        self.token = info.token
        """Rises with every take in the namespace: what has seen a later one may refuse this one (fencing)."""
        self.ends_at = info.ends_at

    @property
    def text(self) -> str:
        """The task as text, UTF-8."""
        return self.task.decode()

    def __repr__(self) -> str:
        return f"<muster.Lease {self.id}>"

    def _end(self, end: Callable[[], None]) -> None:
        try:
            end()
        except (Lost, Cancelled, Exhausted):
            self._ended = True
            raise
        self._ended = True

    def finish(
        self,
        result: _rows.Result = None,
        *,
        next: Optional[Text] = None,
        delay: float = 0,
        after: Sequence[Text] = (),
    ) -> None:
        """It is done. See Client.finish()."""
        self._end(lambda: self._client.finish(self.id, result, next=next, delay=delay, after=after))

    def give_back(self) -> None:
        """It is not done: back to the front of the queue, at once."""
        self._end(lambda: self._client.give_back(self.id))

    def retry(
        self, delay: Optional[float] = None, *, group: Optional[Text] = None, message: Optional[Text] = None
    ) -> None:
        """It is not done: to the end of the queue. See Client.retry()."""
        self._end(lambda: self._client.retry(self.id, delay, group=group, message=message))

    def fail(self, group: Optional[Text] = None, message: Optional[Text] = None) -> None:
        """It goes onto the failed list of its queue."""
        self._end(lambda: self._client.fail(self.id, group, message))

    def extend(
        self, lease: Optional[float] = None, *, progress: Optional[Text] = None, data: Optional[Data] = None
    ) -> None:
        """The lease ends so many seconds from now; or say how far the work is, or give the job new data. See
        Client.extend()."""
        self._client.extend(self.id, lease, progress=progress, data=data)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], why: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._ended:
            return
        if why is None:
            self.finish()
            return
        try:
            end_by_exception(self, why)
        except Exhausted:
            pass  # the block has failed, and so has its job
        except Error as refused:  # the exception of the block is what the program must see
            why.add_note(f"muster: the end of {self.id} did not count: {refused}")


def end_by_exception(lease: Any, why: BaseException) -> Any:
    """End the lease of a block that has raised: what its end returns, which is None or to be awaited."""
    is_job = lease.job is not None
    if isinstance(why, Retry):
        reason = {"group": why.group, "message": why.message} if is_job else {}  # a task has no record to keep it
        return lease.retry(why.delay, **reason)
    if isinstance(why, Fail):
        return lease.fail(why.group, why.message)
    if isinstance(why, GiveBack) or not isinstance(why, Exception):
        return lease.give_back()
    if is_job:
        return lease.retry(group=group_of(why), message=message_of(why))
    return lease.fail(group_of(why), message_of(why))


_OUTCOMES = {"finish": _abi.FINISH, "give_back": _abi.GIVE_BACK, "retry": _abi.RETRY, "fail": _abi.FAIL}


@dataclass(frozen=True)
class LeaseEnd:
    """One end of Client.end_many(), with the arguments of the single call:

        LeaseEnd.finish(lease.id, "sent")
        LeaseEnd.retry(lease.id, 60, message="no answer")
    """

    process: Text
    outcome: str  # "finish", "give_back", "retry" or "fail"
    result: _rows.Result = None
    next: Optional[Text] = None
    delay: Optional[float] = None
    after: Sequence[Text] = ()
    group: Optional[Text] = None
    message: Optional[Text] = None

    @classmethod
    def finish(
        cls,
        process: Text,
        result: _rows.Result = None,
        *,
        next: Optional[Text] = None,
        delay: float = 0,
        after: Sequence[Text] = (),
    ) -> "LeaseEnd":
        """As Client.finish()."""
        return cls(process, "finish", result=result, next=next, delay=delay, after=after)

    @classmethod
    def give_back(cls, process: Text) -> "LeaseEnd":
        """As Client.give_back()."""
        return cls(process, "give_back")

    @classmethod
    def retry(
        cls,
        process: Text,
        delay: Optional[float] = None,
        *,
        group: Optional[Text] = None,
        message: Optional[Text] = None,
    ) -> "LeaseEnd":
        """As Client.retry()."""
        return cls(process, "retry", delay=delay, group=group, message=message)

    @classmethod
    def fail(cls, process: Text, group: Optional[Text] = None, message: Optional[Text] = None) -> "LeaseEnd":
        """As Client.fail()."""
        return cls(process, "fail", group=group, message=message)


class Client:
    """A client of muster. It holds one connection to Redis, which the first call makes.

        with muster.Client("redis://queue.example.org") as client:
            client.enqueue("mail", "to ann")

    url
        Where Redis is; None: the environment variable MUSTER_URL, or redis://127.0.0.1:6379. Also unix:///path.sock,
        rediss://, redis+cluster://, redis+sentinel://; client.h has all of them.
    prefix
        All keys of the namespace begin with it. None: MUSTER_PREFIX, or "muster".
    timeout
        How long connecting may take, and each answer, in seconds.
    max_task_len
        Larger tasks are refused with TooBig. 64 MiB by default.
    user, password, tls_ca, tls_cert, tls_key, tls_server_name, tls_insecure, sentinel_user, sentinel_password,
    replicas, replicas_wait, fsync
        As in client.h; `replicas_wait` is in seconds.

    Queues and other names are str or bytes; tasks, results and data are bytes, or str, which is sent as UTF-8. What
    comes out of Redis is bytes, names are str. Spans are seconds, points of time are Unix times by Redis' clock.

    Threads. Any thread may call; calls of several threads take turns, since there is one connection. For calls that
    wait at the same time make several clients.

    Signals. A call on the main thread ends promptly when a signal's handler raises, as Ctrl-C does (KeyboardInterrupt):
    what was asked for may or may not have been done, but nothing stays taken.

    Errors are exceptions below muster.Error. After NoConnection and Timeout a change may or may not have been made, and
    the next call connects again by itself. After a fork the child must make a client of its own: this one refuses.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        timeout: float = 5.0,
        max_task_len: int = 0,
        user: Optional[str] = None,
        password: Optional[str] = None,
        tls_ca: Optional[str] = None,
        tls_cert: Optional[str] = None,
        tls_key: Optional[str] = None,
        tls_server_name: Optional[str] = None,
        tls_insecure: bool = False,
        sentinel_user: Optional[str] = None,
        sentinel_password: Optional[str] = None,
        replicas: int = 0,
        replicas_wait: float = 0,
        fsync: bool = False,
    ) -> None:
        self._c: Optional[ctypes.c_void_p] = None
        options = client_options(
            url=url,
            prefix=prefix,
            timeout=timeout,
            max_task_len=max_task_len,
            user=user,
            password=password,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            tls_server_name=tls_server_name,
            tls_insecure=tls_insecure,
            sentinel_user=sentinel_user,
            sentinel_password=sentinel_password,
            replicas=replicas,
            replicas_wait=replicas_wait,
            fsync=fsync,
        )
        made = ctypes.c_void_p()
        err = lib.client_new(ctypes.byref(made), ctypes.byref(options))
        if err:
            raise error(err, lib.client_options_check(ctypes.byref(options)))
        self._c = made
        self._life = life()
        self._lock = threading.Lock()
        self._owner = 0
        self._caller = Caller(lambda: lib.client_interrupt(made), lambda: lib.client_interrupt_take_back(made))

    # ---- calling

    def _check(self) -> ctypes.c_void_p:
        if self._c is None:
            raise ValueError("the client is closed")
        check_life(self._life, "client")
        return self._c

    def _ask(
        self,
        function: Callable[..., int],
        *args: Any,
        is_brief: bool = True,
        but: tuple[int, ...] = (),
        undo: Optional[Callable[[], Any]] = None,
    ) -> None:
        """Call; every error is raised, except those in `but`."""
        if self._owner == threading.get_ident():
            raise RuntimeError("the client is in a call already: a handler of a signal needs a client of its own")
        with self._lock:
            c = self._check()
            self._owner = threading.get_ident()
            try:
                if is_brief:
                    err = self._caller.brief(lambda: function(c, *args))
                else:
                    err = self._caller.call(lambda: function(c, *args), undo)
                if err and err not in but:
                    raise error(err, lib.client_error(c))
            finally:
                self._owner = 0

    def _list(self, function: Callable[..., int], read: Callable[[Any], Any], kind: Any, *args: Any) -> list[Any]:
        into: list[Any] = []
        self._ask(function, *args, rows(read, kind, into), None, is_brief=False)
        return check_rows(into)

    def close(self) -> None:
        """Close the connection. The client cannot be used any more. To close it twice is no error."""
        with self._lock:
            c, self._c = self._c, None
            if c is None or self._life != life():
                return
            self._caller.call(lambda: lib.client_free(c))
            self._caller.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        c = getattr(self, "_c", None)
        if c is not None and self._life == life():
            self._caller.close()
            lib.client_free(c)

    @staticmethod
    def c_options(url: Optional[str] = None, **options: Any) -> Any:
        """The options as C has them, for an asynchronous client."""
        given: dict[str, Any] = {**_DEFAULTS, "url": url, **options}
        return client_options(**given)

    def interrupt(self) -> None:
        """End the call that waits now, in another thread: it raises Interrupted there. If none waits, the next call that
        would ask Redis for something does. Any thread."""
        lib.client_interrupt(self._check())

    def take_interrupt_back(self) -> bool:
        """Forget an interrupt that has ended no call. Returns whether there was one. While no call runs."""
        with self._lock:
            return bool(lib.client_interrupt_take_back(self._check()))

    # ---- tasks

    def enqueue(self, queue: Text, task: Data) -> int:
        """Enqueue one task. It goes straight to an idle worker, or to the end of the queue. Returns how many tasks and
        jobs then wait there (0: a worker got it). After NoConnection or Timeout it may or may not be enqueued."""
        waiting = ctypes.c_uint64()
        made = data(task)
        self._ask(lib.task_enqueue, name(queue), made, len(made), waiting)
        return waiting.value

    def enqueue_many(
        self, queue: Text, tasks: Iterable[Data], *, at_front: bool = False, request_id: Optional[Text] = None
    ) -> int:
        """Enqueue tasks in their order. Up to 1000 tasks and 1 MiB are enqueued all or none; more go in chunks.

        `request_id` makes a repetition safe: the same call under the same id within an hour enqueues what is missing,
        and nothing else. Returns how many wait then."""
        made = [data(task) for task in tasks]
        options = _abi.new(_abi.EnqueueOptions, at_front=int(at_front), request_id=name_or_none(request_id))
        waiting = ctypes.c_uint64()
        array_ = _array_of_bytes(made)
        self._ask(lib.task_enqueue_many, name(queue), array_, len(made), options, waiting)
        return waiting.value

    def enqueue_unique(self, queue: Text, task: Data) -> str:
        """Enqueue a task unless an equal one that was enqueued so is alive in this queue; then it raises Exists. Returns
        the id under which it is known as long as it is alive, for job() and wait()."""
        made = data(task)
        id_ = ctypes.create_string_buffer(_IDS)
        self._ask(lib.task_enqueue_unique, name(queue), made, len(made), id_)
        return text(id_.value)

    def cancel(self, queue: Text, task: Data) -> tuple[int, int]:
        """Cancel a task: all its copies in this queue. Those that wait are removed, those that run are told to stop.
        Returns how many were removed, and how many run."""
        made = data(task)
        removed, running = ctypes.c_uint64(), ctypes.c_uint64()
        self._ask(lib.task_cancel, name(queue), made, len(made), removed, running)
        return removed.value, running.value

    def cancel_process(self, process: Text) -> None:
        """Cancel one process by its id; raises Lost if there is none. If it is a job's, the job is gone at once."""
        self._ask(lib.process_cancel, name(process))

    def peek(self, queue: Text, n: int = 100, *, start: int = 0) -> list[Waiting]:
        """Look at what comes next, and take nothing."""
        if n < 0 or start < 0:
            raise Invalid(f"n and start are not negative: {n}, {start}")
        return self._list(lib.task_peek, _rows.waiting_row, _abi.Task, name(queue), start, n)

    # ---- queues, workers, processes

    def length(self, queue: Text) -> int:
        """How many tasks and jobs wait. 0 also if there is no such queue."""
        waiting = ctypes.c_uint64()
        self._ask(lib.queue_length, name(queue), waiting)
        return waiting.value

    def queues(self) -> list[Queue]:
        """The queues of the namespace, oldest name first."""
        return self._list(lib.queue_list, _rows.queue_row, _abi.QueueInfo)

    def queue(self, queue: Text) -> Queue:
        """One queue's row; raises NotFound if there is none."""
        row = _abi.QueueInfo()
        named = name(queue)
        self._ask(lib.queue_get, named, row)
        return _rows.queue_row(row)

    def pause(self, queue: Text) -> None:
        """Nothing of the queue is handed out from now on. What runs goes on, what is enqueued waits."""
        self._ask(lib.queue_pause, name(queue))

    def resume(self, queue: Text) -> None:
        """Hand out again."""
        self._ask(lib.queue_resume, name(queue))

    def delete_queue(self, queue: Text) -> tuple[int, int]:
        """Delete a queue with all that waits, is delayed or has failed, its jobs and settings. Returns how many are gone
        that were still to run, and how many run: these may finish."""
        removed, running = ctypes.c_uint64(), ctypes.c_uint64()
        self._ask(lib.queue_delete, name(queue), removed, running)
        return removed.value, running.value

    def workers(self) -> list[WorkerInfo]:
        """The registered workers. First comes the one whose life would end first without another heartbeat."""
        return self._list(lib.worker_list, _rows.worker_row, _abi.WorkerInfo)

    def fail_worker(self, worker: Text) -> int:
        """Declare a worker dead, alive or not. Returns how many tasks and jobs went back to the front of their queues."""
        given_back = ctypes.c_uint64()
        self._ask(lib.worker_fail, name(worker), given_back)
        return given_back.value

    def sweep(self) -> int:
        """Sweep all dead workers now, as every worker's heartbeat does. Returns how many this call swept."""
        workers = ctypes.c_uint64()
        self._ask(lib.client_sweep, workers)
        return workers.value

    def processes(
        self,
        *,
        queue: Optional[Text] = None,
        worker: Optional[Text] = None,
        task: Optional[Data] = None,
        holder: Optional[Text] = None,
    ) -> list[ProcessInfo]:
        """What runs, in workers' hands or under leases; only of this queue, of this worker, with these bytes, under
        leases of this holder."""
        made = None if task is None else data(task)
        filter_ = _abi.new(
            _abi.ProcessFilter, queue=name_or_none(queue), worker=name_or_none(worker), holder=name_or_none(holder)
        )
        if made is not None:
            filter_.task = ctypes.pointer(c_bytes(made))
        return self._list(lib.process_list, _rows.process_row, _abi.ProcessInfo, filter_)

    def time(self) -> float:
        """Unix time by Redis' clock, by which all times of muster are."""
        now = ctypes.c_int64()
        self._ask(lib.client_time, now)
        return now.value / 1000

    # ---- leases

    def take(
        self, queue: Text, n: int = 1, *, lease: float, wait: float = 0, holder: Optional[Text] = None
    ) -> list[Lease]:
        """Take up to `n` tasks under a lease of so many seconds. [] if there is none; with `wait` the call waits up to
        that long for the first one, without polling. `holder` is a name that the list of processes shows, and by which
        `fail_worker` ends all of its leases. If an error comes when some are taken already, these are returned, and the
        log has the error.

        If a lease lapses before its end, its task goes back to the front of the queue."""
        taken: list[Any] = []

        def read(p: Any) -> Lease:
            return Lease(self, _rows.process_row(p), _rows.job_row(p.record.contents) if p.record else None)

        take = rows(read, _abi.ProcessInfo, taken)
        if n < 1 or ms(lease, "lease") < 1:  # 0 would mean a default in C
            raise ValueError(f"take() needs n of at least 1 and a lease of at least 1 ms, not {n} and {lease} s")
        options = _abi.new(
            _abi.TakeOptions, n=n, lease_ms=ms(lease, "lease"), wait_ms=ms(wait, "wait"), holder=name_or_none(holder)
        )

        def undo() -> None:
            for one in taken:
                if isinstance(one, Lease) and (err := lib.lease_give_back(self._c, name(one.id))):
                    why = error(err, lib.client_error(self._c))
                    log.warning("%s was taken for nobody, and could not be given back: %s", one.id, why)

        try:
            self._ask(lib.lease_take_as, name(queue), options, take, None, is_brief=False, but=(NotFound.code,), undo=undo)
        except Interrupted:
            self.give_back_all([one for one in taken if isinstance(one, Lease)])
            raise
        except Error as why:
            if not check_rows(taken):
                raise
            log.warning("fewer were taken from %s than there may be: %s", queue, why)
        return check_rows(taken)

    def give_back_all(self, leases: Iterable[Lease]) -> None:
        """Give back what was taken for nobody, as well as that goes; the log has what could not be given back."""
        left = [lease.id for lease in leases]
        for _ in range(2):  # an interrupt that is still to come ends the first one
            told = self.end_many([LeaseEnd.give_back(id) for id in left])
            left = [id for id, why in zip(left, told) if why is not None and not isinstance(why, Lost)]
        if left:
            log.warning("what was taken for nobody could not be given back: %s", ", ".join(left))

    def take_one(self, queue: Text, *, lease: float, wait: float = 0) -> Optional[Lease]:
        """Take one task; None if there is none (in time)."""
        taken = self.take(queue, 1, lease=lease, wait=wait)
        return taken[0] if taken else None

    def finish(
        self,
        process: Text,
        result: _rows.Result = None,
        *,
        next: Optional[Text] = None,
        delay: float = 0,
        after: Sequence[Text] = (),
    ) -> None:
        """End a process by its id, a lease's or a worker's: it is done. `result` is for those who listen, and for a
        job's record. A job goes on to the queue `next`, if that is given: after `delay`, and when the jobs `after` are
        complete. Raises Lost if it was ended before, or its lease lapsed; Cancelled if it is that of a job that was
        cancelled."""
        options, _kept = finish_options(result, next, delay, after)
        self._ask(lib.lease_finish, name(process), options)

    def give_back(self, process: Text) -> None:
        """End a process: it is not done, and goes to the front of its queue."""
        self._ask(lib.lease_give_back, name(process))

    def retry(
        self,
        process: Text,
        delay: Optional[float] = None,
        *,
        group: Optional[Text] = None,
        message: Optional[Text] = None,
    ) -> None:
        """End a process: it is not done, and goes to the end of its queue after `delay`. None: a task at once, a job
        after its own backoff. A job that has had all its retries fails instead (Exhausted); its record keeps group and
        message, which a task has not (WrongState)."""
        self._ask(
            lib.lease_retry_as,
            name(process),
            retry_ms(delay),
            name_or_none(group),
            name_or_none(message),
        )

    def fail(self, process: Text, group: Optional[Text] = None, message: Optional[Text] = None) -> None:
        """End a process: it goes onto the failed list, under a group ("failed" by default), with a message."""
        self._ask(lib.lease_fail, name(process), name_or_none(group), name_or_none(message))

    def extend(
        self,
        process: Text,
        lease: Optional[float] = None,
        *,
        progress: Optional[Text] = None,
        data: Optional[Data] = None,
    ) -> None:
        """The lease ends so many seconds from now. `progress`: a note that lists show. `data`: a job's new data. Raises
        WrongState if the process was cancelled."""
        options, _kept = extend_options(lease, progress, data)
        self._ask(lib.lease_extend, name(process), options)

    def end_many(self, ends: Iterable[LeaseEnd]) -> list[Optional[Error]]:
        """End many processes, of any queues, each in its own way. They go together, 200 in one call of Redis.

            for lease, why in zip(leases, client.end_many(LeaseEnd.finish(lease.id) for lease in leases)):
                if why is not None:
                    print(lease.id, why)

        Returns for each of them None, if it has ended so, or the error that the single call would have raised: it
        raises none of these itself. What is the matter with one keeps none of the others. After NoConnection, Timeout
        and Interrupted this one may or may not have ended, and so may all behind it, which have the same error."""
        made, _kept = _c_ends(list(ends))
        return self._ask_many(lib.lease_end_many, made, len(made))

    def extend_many(
        self,
        processes: Iterable[Text],
        lease: Optional[float] = None,
        *,
        progress: Optional[Text] = None,
        data: Optional[Data] = None,
    ) -> list[Optional[Error]]:
        """extend() for many processes, of any queues, with the same arguments for each. Returns for each of them None or
        its error, as end_many() does. An argument that is not allowed is the error of all."""
        options, _kept = extend_options(lease, progress, data)
        made = names(processes)
        return self._ask_many(lib.lease_extend_many, made, 0 if made is None else len(made), options)

    def _ask_many(self, function: Callable[..., int], what: Any, n: int, *args: Any) -> list[Optional[Error]]:
        """Call for `n` at once. Only the first one's error has words of its own."""
        if n == 0:
            self._check()
            return []
        errs = (ctypes.c_int * n)()
        first: Optional[Error] = None
        try:
            self._ask(function, what, n, *args, errs)
        except Error as why:
            first = why
        if first is not None and not any(errs):  # it was not even begun
            raise first
        told: list[Optional[Error]] = []
        for err in errs:
            told.append((first or error(err, None)) if err else None)
            if err:
                first = None
        return told

    # ---- jobs

    def put(self, queue: Text, job: Union[JobSpec, Data]) -> str:
        """Put a job: a JobSpec, or its data. Returns its id. Raises Exists if a job of this id is alive."""
        return self.put_many(queue, [job])[0]

    def put_many(
        self, queue: Text, jobs: Iterable[Union[JobSpec, Data]], *, request_id: Optional[Text] = None
    ) -> list[str]:
        """Put jobs in their order; a later one may wait for an earlier one. Returns their ids. Up to 200 jobs are put all
        or none, more in chunks of a hundred.

        `request_id` makes a repetition safe. An error has `put` (how many are put, the first ones), `ids` and
        `refused`."""
        specs = [_rows.c_spec(job if isinstance(job, JobSpec) else JobSpec(job)) for job in jobs]
        n = len(specs)
        if n == 0:
            return []
        pointers = (ctypes.c_void_p * n)(*(ctypes.addressof(spec.spec) for spec in specs))
        ids, refused, put = ctypes.create_string_buffer(n * _IDS), ctypes.c_size_t(), ctypes.c_size_t()
        options = _abi.new(_abi.JobPutOptions, request_id=name_or_none(request_id))
        options.ids, options.refused = ctypes.addressof(ids), ctypes.pointer(refused)

        def named() -> list[str]:
            raw = ids.raw
            return [text(raw[i : i + _IDS].split(b"\0", 1)[0]) for i in range(0, n * _IDS, _IDS)]

        try:
            self._ask(lib.job_put_many, name(queue), pointers, n, options, put)
        except Error as why:
            why.put, why.ids, why.refused = put.value, named(), refused.value - 1 if refused.value else None
            raise
        return named()

    def job(self, id: Text) -> Job:
        """A job's record with its history; raises NotFound if there is none (any more)."""
        found: list[Job] = self._list(lib.job_get, _rows.job_row, _abi.Job, names([id]), 1)
        return found[0]

    def peek_job(self, id: Text) -> Job:
        """As job(), for one that may be large: at most 64 KiB of its data and of its result, and 100 lines of
        its history, the first and the newest ones. `length` and
        `result_length` say how many bytes there are."""
        found: list[Job] = self._list(lib.job_peek, _rows.job_row, _abi.Job, names([id]), 1)
        return found[0]

    def parents(self, id: Text) -> list[tuple[str, Optional[Job]]]:
        """The jobs that this one was put to wait for, each id with its record and result, if it still has one."""

        def read(p: Any) -> tuple[str, Optional[Job]]:
            return text(p.id), _rows.job_row(p.job.contents) if p.job else None

        return self._list(lib.job_parents, read, _abi.JobParent, name(id))

    def jobs(
        self,
        queue: Optional[Text] = None,
        *,
        state: Optional[str] = None,
        tag: Optional[Text] = None,
        tags: Sequence[Text] = (),
        any_tag: bool = False,
        group: Optional[Text] = None,
        tracked: bool = False,
        order: Optional[str] = None,
        offset: int = 0,
        n: Optional[int] = None,
        past: Optional[Job] = None,
    ) -> list[Job]:
        """List jobs for which all of this holds. `order` is "oldest" or "newest", by when they were put; then `past` is
        the last one of the page before. `tags`: beside `tag`, all of these, or with `any_tag` at least one of all."""
        filter_ = _abi.new(_abi.JobFilter, queue=name_or_none(queue), tag=name_or_none(tag), group=name_or_none(group))
        more = names(tags)
        if more is not None:
            filter_.tags, filter_.n_tags = more, len(more)
        if state is not None:
            if state not in _rows.JOB_STATES:
                raise Invalid(f"state is one of {', '.join(_rows.JOB_STATES)}, not {state!r}")
            filter_.state, filter_.by_state = _rows.JOB_STATES.index(state), 1
        if order is not None and order not in _rows.ORDERS[1:]:
            raise Invalid(f"order is one of {', '.join(_rows.ORDERS[1:])}, not {order!r}")
        if offset < 0:
            raise Invalid(f"offset is not negative: {offset}")
        filter_.order = _rows.ORDERS.index(order or "")
        filter_.any_tag, filter_.tracked, filter_.offset, filter_.n = int(any_tag), int(tracked), offset, _count(n)
        if past is not None:
            filter_.past_id, filter_.past_ms = name(past.id), ms(past.put_at or 0, "past")
        return self._list(lib.job_list, _rows.job_row, _abi.Job, filter_)

    def job_counts(self, queue: Text) -> dict[str, int]:
        """How many jobs of a queue are in each state."""
        counts = (ctypes.c_uint64 * len(_rows.JOB_STATES))()
        self._ask(lib.job_counts, name(queue), counts)
        return dict(zip(_rows.JOB_STATES, counts))

    def cancel_jobs(self, ids: Iterable[Text], *, dependents: bool = False) -> tuple[int, int]:
        """Cancel jobs, with `dependents` also those that wait until they are complete. Returns how many were in nobody's
        hands, and how many were running: these are gone at once, too, and their holders are told. Ids that do not exist
        are passed over."""
        made = names(ids)
        removed, running = ctypes.c_uint64(), ctypes.c_uint64()
        self._ask(lib.job_cancel, made, len(made) if made is not None else 0, int(dependents), removed, running)
        return removed.value, running.value

    def wait(self, ids: Iterable[Text], timeout: Optional[float] = None) -> dict[str, Ended]:
        """Wait until each of these jobs has ended; `timeout` None: for ever, 0: it only looks. Returns how each has
        ended, by its id, with its record and result. Raises Timeout when the time is over.

            client.wait([id])[id].result
        """
        made = names(ids)
        n = len(made) if made is not None else 0
        span = -1 if timeout is None else ms(timeout, "timeout")
        if timeout is not None and timeout < 0:
            raise Invalid(f"timeout is not negative: {timeout}; None: for ever")
        ended: list[Ended] = self._list(lib.job_wait, _rows.ended_row, _abi.JobEnded, made, n, span)
        return {one.id: one for one in ended}

    def stats(self, queue: Text, day: int = -1) -> QueueStats:
        """What happened to the jobs of a queue on a day, counted from 1970-01-01 (UTC); -1: today."""
        made = _abi.new(_abi.Stats)
        self._ask(lib.stats_get, name(queue), day, made)
        return _rows.stats_row(made)

    # ---- batches

    def open_batch(
        self,
        id: Optional[Text] = None,
        *,
        batch: Optional[Text] = None,
        ttl: Optional[float] = None,
        on_end: Optional[Follower] = None,
        on_complete: Optional[Follower] = None,
        on_failure: Optional[Follower] = None,
    ) -> str:
        """Open a batch: jobs that belong together (JobSpec.batch), and what follows when they have ended. Returns its
        id."""
        spec = _abi.new(_abi.BatchSpec, id=name_or_none(id), batch=name_or_none(batch))
        spec.ttl_ms = 0 if ttl is None else ms(ttl, "ttl")
        kept = []
        for what, follower in (("on_end", on_end), ("on_complete", on_complete), ("on_failure", on_failure)):
            if follower is not None:
                place = getattr(spec, what)
                place.queue = name(follower.queue)
                if follower.data is not None:
                    kept.append(data(follower.data))
                    place.data = c_bytes(kept[-1])
        made = ctypes.create_string_buffer(_abi.CONSTANTS["MUSTER_BATCH_ID_MAX"] + 1)
        self._ask(lib.batch_open, spec, made)
        return text(made.value)

    def close_batch(self, id: Text) -> None:
        """No more members come. When all have ended, the batch has ended."""
        self._ask(lib.batch_close, name(id))

    def cancel_batch(self, id: Text) -> tuple[int, int]:
        """Close a batch and cancel its members. Returns how many were in nobody's hands, and how many were running."""
        removed, running = ctypes.c_uint64(), ctypes.c_uint64()
        self._ask(lib.batch_cancel, name(id), removed, running)
        return removed.value, running.value

    def batch(self, id: Text) -> Batch:
        """A batch's record; raises NotFound if there is none (any more)."""
        found: list[Batch] = self._list(lib.batch_get, _rows.batch_row, _abi.Batch, name(id))
        return found[0]

    def batches(self) -> list[Batch]:
        """All batches: those that have not ended first."""
        return self._list(lib.batch_list, _rows.batch_row, _abi.Batch)

    # ---- failures

    def failures(
        self, queue: Text, *, group: Optional[Text] = None, offset: int = 0, n: Optional[int] = None
    ) -> list[Failure]:
        """The failures of a queue, newest first."""
        filter_, _ = self._failed(queue, group, ())
        if offset < 0:
            raise Invalid(f"offset is not negative: {offset}")
        filter_.offset, filter_.n = offset, _count(n)
        return self._list(lib.failed_list, _rows.failure_row, _abi.Failure, filter_)

    def failed_groups(self, queue: Optional[Text] = None) -> list[tuple[str, str, int]]:
        """How many failures each group of a queue, or of every queue, has: (queue, group, how many)."""

        def read(g: Any) -> tuple[str, str, int]:
            return text(g.queue), text(g.group), g.n

        return self._list(lib.failed_groups, read, _abi.FailedGroup, name_or_none(queue))

    def replay(self, queue: Text, *, group: Optional[Text] = None, entries: Optional[Iterable[Text]] = None) -> int:
        """Put failures back to the end of their queue: all, those of a group, or these. Returns how many."""
        return self._fail_call(lib.failed_replay, queue, group, entries)

    def drop(self, queue: Text, *, group: Optional[Text] = None, entries: Optional[Iterable[Text]] = None) -> int:
        """Forget failures: all, those of a group, or these. Returns how many."""
        return self._fail_call(lib.failed_drop, queue, group, entries)

    def _failed(self, queue: Text, group: Optional[Text], entries: Iterable[Text]) -> tuple[Any, Any]:
        filter_ = _abi.new(_abi.FailedFilter, queue=name(queue), group=name_or_none(group))
        these = names(entries)
        if these is not None:
            filter_.entries, filter_.n_entries = these, len(these)
        return filter_, these

    def _fail_call(
        self, function: Callable[..., int], queue: Text, group: Optional[Text], entries: Optional[Iterable[Text]]
    ) -> int:
        filter_, these = self._failed(queue, group, () if entries is None else entries)
        if entries is not None and these is None:
            return 0  # none of them: an empty list must not mean all
        n = ctypes.c_uint64()
        self._ask(function, filter_, n)
        return n.value

    # ---- settings

    def settings(self, queue: Optional[Text] = None) -> dict[str, Setting]:
        """The settings that count for a queue, or for the namespace, by their names."""
        found: list[Setting] = self._list(
            lib.config_get, _rows.setting_row, _abi.Setting, name_or_none(queue), None
        )
        return {setting.name: setting for setting in found}

    def set(self, setting: Text, value: Optional[int], *, queue: Optional[Text] = None) -> None:
        """Set a setting of a queue, or of the namespace; None: unset it. It counts from the next call of anybody on."""
        number = None if value is None else ctypes.c_int64(value)
        self._ask(lib.config_set, name_or_none(queue), name(setting), number)


def finish_options(
    result: _rows.Result, next: Optional[Text], delay: float, after: Sequence[Text]
) -> tuple[Any, list[Any]]:
    """The options, and what they point to."""
    made = None if result is None else data(result)
    others = names(after)
    options = _abi.new(_abi.FinishOptions, next=name_or_none(next), delay_ms=ms(delay, "delay"))
    if made is not None:
        options.result = ctypes.pointer(c_bytes(made))
    if others is not None:
        options.after, options.n_after = others, len(others)
    return options, [made, others]


def extend_options(
    lease: Optional[float], progress: Optional[Text], new: Optional[Data]
) -> tuple[Any, list[Any]]:
    made = None if new is None else data(new)
    options = _abi.new(_abi.ExtendOptions, progress=name_or_none(progress))
    if lease is not None:
        options.lease_ms = ms(lease, "lease")
        if options.lease_ms <= 0:
            raise Invalid(f"lease is above 0: {lease}")
    if made is not None:
        options.data = ctypes.pointer(c_bytes(made))
    return options, [made]


def _c_ends(ends: list[LeaseEnd]) -> tuple[Any, list[Any]]:
    """The array, and what it points to."""
    made = (_abi.LeaseEnd * len(ends))()
    kept: list[Any] = []
    for to, end in zip(made, ends):
        if end.outcome not in _OUTCOMES:
            raise Invalid(f"outcome is one of {', '.join(_OUTCOMES)}, not {end.outcome!r}")
        others, result = names(end.after), None if end.result is None else data(end.result)
        kept += [others, result]
        to.size, to.outcome = ctypes.sizeof(to), _OUTCOMES[end.outcome]
        to.process, to.next = name(end.process), name_or_none(end.next)
        to.group, to.message = name_or_none(end.group), name_or_none(end.message)
        to.delay_ms = retry_ms(end.delay) if end.outcome == "retry" else ms(end.delay or 0, "delay")
        if result is not None:
            to.result = ctypes.pointer(c_bytes(result))
        if others is not None:
            to.after, to.n_after = others, len(others)
    return made, kept


def retry_ms(delay: Optional[float]) -> int:
    return -1 if delay is None else ms(delay, "delay")


def _array_of_bytes(made: list[bytes]) -> Any:
    """An array of struct muster_bytes, made by a few steps for all of them. It keeps the bytes alive."""
    n = len(made)
    if n == 0:
        return None
    pointers = (ctypes.c_char_p * n)(*made)
    words = array("Q", bytes(16 * n))
    addresses = array("Q")
    addresses.frombytes(memoryview(pointers).cast("B"))
    words[0::2] = addresses
    words[1::2] = array("Q", map(len, made))
    array_: Any = (_abi.Bytes * n).from_buffer(words)
    array_.kept = pointers
    return array_


def client_options(
    *,
    url: Optional[str],
    prefix: Optional[str],
    timeout: float,
    max_task_len: int,
    user: Optional[str],
    password: Optional[str],
    tls_ca: Optional[str],
    tls_cert: Optional[str],
    tls_key: Optional[str],
    tls_server_name: Optional[str],
    tls_insecure: bool,
    sentinel_user: Optional[str],
    sentinel_password: Optional[str],
    replicas: int,
    replicas_wait: float,
    fsync: bool,
) -> Any:
    return _abi.new(
        _abi.ClientOptions,
        url=name_or_none(url),
        prefix=name_or_none(prefix),
        timeout_ms=ms(timeout, "timeout"),
        max_task_len=max_task_len,
        user=name_or_none(user),
        password=name_or_none(password),
        tls_ca=name_or_none(tls_ca),
        tls_cert=name_or_none(tls_cert),
        tls_key=name_or_none(tls_key),
        tls_server_name=name_or_none(tls_server_name),
        sentinel_user=name_or_none(sentinel_user),
        sentinel_password=name_or_none(sentinel_password),
        tls_insecure=int(tls_insecure),
        replicas=replicas,
        replicas_ms=ms(replicas_wait, "replicas_wait"),
        fsync=int(fsync),
    )


_DEFAULTS: dict[str, Any] = {
    key: parameter.default
    for key, parameter in inspect.signature(Client.__init__).parameters.items()
    if parameter.default is not parameter.empty
}
