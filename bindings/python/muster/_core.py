# SPDX-License-Identifier: MIT
"""What workers on threads and in asyncio share: the library's worker, whose loop runs on a thread of the library; what
it hands out; and how processes end.

The library never calls Python: it has a descriptor that is readable while there is something, and muster_worker_next()
hands out many things at once. So no thread of the library ever waits for the interpreter, or meets it at its end.

Order. A process is in `_out` from when it came until its end is on its way; its pointer is valid just as long. Pointers
are cleared, and the worker is freed, under `_lock`; and calls about a process hold it. Ends gather in `_ends` and go
together, as soon as somebody has time.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import select
import threading
import time
import weakref
from collections import deque
from ctypes import string_at
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from . import _abi, _rows
from ._errors import Error, Invalid, Lost, NotStarted, WrongState
from ._handling import EVENT_NAMES, NEWS, WARNINGS, Event, Fail, GiveBack, Outcome, Retry, group_of, message_of
from ._library import Data, Text, check_life, data, error, lib, life, ms, name, name_or_none, text, text_or_none
from ._process import BaseProcess

log = logging.getLogger("muster")

_BATCH = 256
_SIZE = _abi.ITEM.size
# At the end of the program handlers have a moment: so those of short tasks, of which one is always in the middle, end.
# Then the worker has a few seconds to give the others back. After that its peers do, when its ttl is over.
_EXIT_DRAIN_MS = 300
_EXIT_S = 3.0

_P = TypeVar("_P", bound=BaseProcess)


class Served:
    """A queue that is served."""

    __slots__ = ("queue", "name", "hands", "handler")

    def __init__(self, queue: Text, hands: int, handler: Callable[..., Any]) -> None:
        self.name = name(queue)
        self.queue = text(self.name)
        self.hands = hands
        self.handler = handler


_started: "weakref.WeakSet[Core[Any]]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """The program ends while workers run: what they hold goes back to its queues."""
    workers = [worker for worker in _started if worker._is_ours()]
    for worker in workers:
        worker._stop_quietly()
    end = time.monotonic() + _EXIT_S
    for worker in workers:
        worker._await_exit(end)


class Core(Generic[_P]):
    """A worker. Worker and AsyncWorker are the ones to use.

    url, prefix, user, password, tls_ca, tls_cert, tls_key, tls_server_name, tls_insecure, sentinel_user,
    sentinel_password, replicas, replicas_wait, fsync
        As of muster.Client.
    id
        The worker's id. Only one live worker can have an id. None: made from host name, pid and random digits.
    hands
        How many handlers run at once, over all queues.
    prefetch
        How many more tasks are taken in advance: for large numbers of tasks that are shorter than a round trip.
    ttl
        The worker counts as failed when it has not been heard for so many seconds; then its tasks go to others.
    drain
        How long stop() lets handlers run on.
    burst
        Stop when the queues hand out nothing and nothing runs.
    in_turn
        Each take begins with the next queue, instead of always with the first one served.
    max_tasks
        Stop when this many tasks were started and have ended; 0: no limit.
    limit
        How long a handler may run on one task, or on a job that has no limit of its own; then it is told to stop. 0: as
        long as it likes.
    on_limit
        What GiveBack means past the limit: "fail", "retry" or "give_back". None: a task fails, a job is retried.
    on_doubt
        What becomes of handlers when the worker may have lost its tasks: "stop", they are told; or "run", they run on.
    permanent, resume
        As in worker.h: for hosts that come back, and for work that is taken up again. Both need an id.
    tell_ended
        Tell of each end that has counted, as an event "ended". Ends can be waited for only with it. None: an AsyncWorker
        does, a Worker does not.
    on_event
        Called with each Event. None: warnings go to the logger "muster", with the level WARNING, news with INFO.
    """

    _tells_ended = False  # unless the program says otherwise

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        id: Optional[str] = None,
        hands: int = 1,
        prefetch: int = 0,
        ttl: float = 3.0,
        drain: float = 30.0,
        burst: bool = False,
        in_turn: bool = False,
        max_tasks: int = 0,
        limit: float = 0,
        on_limit: Optional[str] = None,
        on_doubt: str = "stop",
        permanent: bool = False,
        resume: bool = False,
        tell_ended: Optional[bool] = None,
        on_event: Optional[Callable[[Event], None]] = None,
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
        limits = {None: 0, "fail": _abi.FAIL, "retry": _abi.RETRY, "give_back": _abi.GIVE_BACK}
        doubts = {"stop": 0, "run": 1}
        if on_limit not in limits:
            raise Invalid(f"on_limit is None or one of fail, retry, give_back, not {on_limit!r}")
        if on_doubt not in doubts:
            raise Invalid(f"on_doubt is stop or run, not {on_doubt!r}")
        if hands < 1:
            raise Invalid(f"hands is at least 1: {hands}")
        self._tell_ended = self._tells_ended if tell_ended is None else tell_ended
        # 0 would mean the default, in C; here it means 0, and 1 ms is as good.
        self._options = _abi.new(
            _abi.WorkerOptions,
            url=name_or_none(url),
            prefix=name_or_none(prefix),
            id=name_or_none(id),
            ttl_ms=ms(ttl, "ttl"),
            hands=hands,
            prefetch=prefetch,
            permanent=int(permanent),
            resume=int(resume),
            drain_ms=ms(drain, "drain") or 1,
            burst=int(burst),
            in_turn=int(in_turn),
            max_tasks=max_tasks,
            limit_ms=ms(limit, "limit"),
            on_limit=limits[on_limit],
            on_doubt=doubts[on_doubt],
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
            own_thread=1,
            tell_ended=int(self._tell_ended),
        )
        why = lib.worker_options_check(ctypes.byref(self._options))
        if why:
            raise Invalid(text(why))
        self._hands = hands
        self._on_event = on_event
        self._life = life()
        self._lock = threading.Lock()
        self._w: Optional[ctypes.c_void_p] = None
        self._fd = -1
        self._served: dict[bytes, Served] = {}
        self._out: dict[int, _P] = {}
        self._ends: deque[_P] = deque()
        self._is_leaving = False  # it was asked to stop: what its handlers hold goes back when the drain time is over
        self._asked: dict[int, Callable[[Optional[Error], Any], None]] = {}
        self._next_ask = 1
        self._state = "new"  # "running", "stopped"
        self._error: Optional[Error] = None
        self._buffer = ctypes.create_string_buffer(_BATCH * _SIZE)
        self._view = memoryview(self._buffer).cast("B")
        self._prepare()

    def _prepare(self) -> None:
        """What the kind of worker keeps besides."""

    # ---- life

    def _is_ours(self) -> bool:
        return self._life == life() and self._state == "running"

    def _check(self) -> ctypes.c_void_p:
        """The library's worker. Under the lock: it is freed there."""
        check_life(self._life, "worker")
        if self._w is None:
            raise NotStarted("the worker has stopped" if self._state == "stopped" else "the worker was not started")
        return self._w

    def _open(self) -> None:
        """Make the library's worker, start it, and serve what was named."""
        check_life(self._life, "worker")
        if self._state != "new":
            raise WrongState(f"the worker was started before: it is {self._state}. Make a new one")
        made = ctypes.c_void_p()
        err = lib.worker_new(ctypes.byref(made), ctypes.byref(self._options))
        if err:
            raise error(err, lib.worker_options_check(ctypes.byref(self._options)))
        try:
            self._fd = lib.worker_fd(made)
            self._must_start(lib.worker_start(made), made)
            for served in self._served.values():
                self._must_start(lib.worker_serve(made, served.name, served.hands, None, None), made)
        except BaseException:
            lib.worker_free(made)
            raise
        self._w = made
        self._state = "running"
        _started.add(self)

    @staticmethod
    def _must_start(err: int, w: ctypes.c_void_p) -> None:
        if err:
            raise error(err, lib.worker_error(w))

    def _close(self) -> None:
        """After the last event: nothing of it counts any more."""
        with self._lock:
            w, self._w = self._w, None
            for process in list(self._out.values()):
                process._pointer = None
            self._out.clear()
        self._ends.clear()
        lost = error(-14, b"the worker has stopped")
        asked, self._asked = self._asked, {}
        for tell in asked.values():
            tell(lost, 0)
        if w is not None:
            lib.worker_free(w)

    @property
    def id(self) -> str:
        """The worker's id; known once it was started."""
        with self._lock:
            return text(lib.worker_id(self._check()))

    @property
    def stopped(self) -> bool:
        """Whether it has stopped."""
        return self._state == "stopped"

    def stop(self, drain: Optional[float] = None) -> None:
        """Ask the worker to stop, and return at once. It takes nothing more, gives back what has not started, and lets
        handlers run on for `drain` seconds (None: the worker's option; 0: none). Any thread, and handlers of signals.
        To ask again with a shorter time shortens it. No error if it has stopped."""
        check_life(self._life, "worker")
        if self._state == "new":
            raise NotStarted("the worker was not started")
        # Without the lock, which a handler of a signal might find taken by the thread that it interrupts. It is freed
        # only after its last event, and by then `_w` is None.
        w = self._w
        self._is_leaving = True
        if w is not None:
            lib.worker_stop(w, -1 if drain is None else ms(drain, "drain"))

    def _stop_quietly(self) -> None:
        w = self._w
        self._is_leaving = True
        if w is not None:
            lib.worker_stop(w, _EXIT_DRAIN_MS)

    def _await_exit(self, end: float) -> None:
        raise NotImplementedError

    # ---- queues

    def handler(self, queue: Text, *, hands: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: serve `queue` by this function, which gets each of its processes.

        At most `hands` of them run at once; 0: as many as the worker has hands. A worker takes first what was served
        first, unless it is `in_turn`."""

        def serve(function: Callable[..., Any]) -> Callable[..., Any]:
            self.serve(queue, function, hands=hands)
            return function

        return serve

    def serve(self, queue: Text, handler: Callable[..., Any], *, hands: int = 0) -> None:
        """The same as a call. Also while the worker runs."""
        self._check_handler(handler)
        if not 0 <= hands <= self._hands:
            raise Invalid(f"hands of a queue: from 1 to the worker's {self._hands}, or 0 for all, not {hands}")
        served = Served(queue, hands, handler)
        if served.name in self._served:
            raise error(-12, f"the worker serves {served.queue} already".encode())
        if self._state == "new":
            self._served[served.name] = served
            return
        w = self._check()
        self._served[served.name] = served
        err = lib.worker_serve(w, served.name, hands, None, None)
        if err:
            del self._served[served.name]
            raise error(err, lib.worker_error(w))

    def leave(self, queue: Text) -> None:
        """Stop serving a queue: nothing more of it starts here, and what this worker holds of it goes back. Its handlers
        are told, and what they return does not count. The event "left" tells when that is done; then the queue may be
        served again."""
        w = self._check()
        err = lib.worker_leave(w, name(queue))
        if err:
            raise error(err, lib.worker_error(w))

    def _check_handler(self, handler: Callable[..., Any]) -> None:
        raise NotImplementedError

    # ---- what the library hands out

    def _make(self, pointer: int, task: bytes, served: Served, token: int, is_job: bool) -> _P:
        raise NotImplementedError

    def _begin(self, process: _P) -> None:
        raise NotImplementedError

    def _told_stop(self, process: _P) -> None:
        raise NotImplementedError

    def _has_stopped(self) -> None:
        raise NotImplementedError

    def _read(self) -> bool:
        """Take what there is. Returns whether there may be more."""
        w = self._w
        if w is None:
            return False
        ctypes.c_size_t.from_buffer(self._buffer).value = _SIZE
        n: int = lib.worker_next(w, self._buffer, _BATCH)
        served, out = self._served, self._out
        # fmt: off
        for (_, kind, event, err, _, pointer, user, id_, queue, job, words, task, length, token, waiting
             ) in _abi.ITEM.iter_unpack(self._view[: n * _SIZE]):
            # fmt: on
            if kind == _abi.ITEM_PROCESS:
                process = self._make(
                    pointer, string_at(task, length) if length else b"", served[string_at(queue)], token, job != 0
                )
                out[pointer] = process
                self._begin(process)
            elif kind == _abi.ITEM_EVENT:
                self._hear(event, err, pointer, user, id_, queue, words, task, length)
            else:
                why = error(err, string_at(words) if words else None) if err else None
                self._answer(user, why, text(string_at(job)) if job else waiting)
        return n == _BATCH

    def _answer(self, user: int, why: Optional[Error], value: Any) -> bool:
        tell = self._asked.pop(user, None) if user else None
        if tell is None:
            return False
        tell(why, value)
        return True

    def _hear(
        self, number: int, err: int, pointer: int, user: int, id_: int, queue: int, words: int, task: int, length: int
    ) -> None:
        kind = EVENT_NAMES[number] if number < len(EVENT_NAMES) else f"event_{number}"
        if kind == "ended" or kind == "uncounted":
            why = error(err, string_at(words)) if err else None
            if self._answer(user, why, 0) and self._on_event is None:
                return
            if self._is_leaving and isinstance(why, Lost) and id_ and self._on_event is None:
                log.info("worker: %s had gone back before its end, because the worker stops", text(string_at(id_)))
                return
        if kind == "ended" and self._on_event is None:
            return
        process = self._out.get(pointer) if pointer else None
        if kind == "stop" and process is not None:
            self._told_stop(process)
        self._tell(
            Event(
                kind,
                text(string_at(words)) if words else "",
                error(err, string_at(words) if words else None) if err else None,
                text_or_none(string_at(id_)) if id_ else None,
                text_or_none(string_at(queue)) if queue else None,
                string_at(task, length) if task else None,
            )
        )
        if kind == "stopped":
            self._state = "stopped"
            if err:
                self._error = error(err, string_at(words) if words else None)
            self._close()
            self._has_stopped()
        elif kind == "left" and queue:
            self._served.pop(string_at(queue), None)

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                log.exception("on_event has raised, told of %s", event)
            return
        level = logging.DEBUG
        if event.type in WARNINGS or (event.type == "stopped" and event.error is not None):
            level = logging.WARNING
        elif event.type in NEWS:
            level = logging.INFO
        if log.isEnabledFor(level):
            about = " ".join(part for part in (event.process or event.queue, event.text or str(event.error or "")) if part)
            log.log(level, "worker: %s%s", event.type.replace("_", " "), f": {about}" if about else "")

    # ---- ends

    def _judge(self, process: _P, why: BaseException) -> int:
        """How a process ends whose handler has raised."""
        if process._pointer is None:  # it has ended already, by its handler or with the worker
            if not isinstance(why, Outcome):
                log.warning("%r: after its end its handler has raised %s", process, type(why).__name__, exc_info=why)
            return _abi.FINISH
        try:
            if isinstance(why, Retry):
                process._set_failure(why.group, why.message)
                process._set_retry(why.delay)
                return _abi.RETRY
            if isinstance(why, Fail):
                process._set_failure(why.group, why.message)
                return _abi.FAIL
            if isinstance(why, GiveBack):
                return _abi.GIVE_BACK
            process._set_failure(group_of(why), message_of(why))
        except Error as refused:
            log.warning("%r ends without what its handler has said of it: %s", process, refused)
        if not isinstance(why, Outcome):
            log.warning("%r: its handler has raised %s", process, type(why).__name__, exc_info=why)
        return _abi.RETRY if process._is_job else _abi.FAIL

    def _succeed(self, process: _P, result: Any) -> int:
        """How a process ends whose handler has returned something."""
        if process._pointer is None:
            return _abi.FINISH
        try:
            process._set_result(result)
        except (TypeError, Error) as why:
            return self._judge(process, why)
        return _abi.FINISH

    def _flush(self) -> None:
        """Let all ends go that have gathered."""
        ends, out = self._ends, self._out
        by_outcome: dict[int, list[int]] = {}
        with self._lock:
            for _ in range(len(ends)):
                process = ends.popleft()
                pointer = process._pointer
                if pointer is not None:
                    process._pointer = None
                    del out[pointer]
                    by_outcome.setdefault(process._outcome, []).append(pointer)
            # Under the lock: the worker must not be freed before.
            for outcome, pointers in by_outcome.items():
                self._end_many(pointers, outcome)

    def _end_many(self, pointers: list[int], outcome: int) -> None:
        n = len(pointers)
        err = lib.process_end_many((ctypes.c_void_p * n)(*pointers), n, outcome)
        if err:
            log.error("some of %d processes could not be ended: %s", n, error(err, None))

    def _end_one(self, process: _P, tell: Optional[Callable[[Optional[Error]], None]]) -> None:
        """End a process before its handler returns. `tell` is called when the end has counted, or why not."""
        if tell is not None and not self._tell_ended:
            raise WrongState("to wait for an end, make the worker with tell_ended=True")
        process._id = process.id  # for those who ask later
        process._record = process.job
        with self._lock:
            pointer = process._pointer
            if pointer is None:
                raise error(-14, b"the process has ended")
            if tell is not None:
                told = tell
                lib.process_set_user(pointer, self._ask(lambda why, _: told(why)))
            process._pointer = None
            del self._out[pointer]
            self._end_many([pointer], process._outcome)

    def _ask(self, tell: Callable[[Optional[Error], Any], None]) -> int:
        """A number for something that will be answered."""
        number, self._next_ask = self._next_ask, self._next_ask + 1
        self._asked[number] = tell
        return number

    # ---- more work

    def _enqueue(self, queue: Text, task: Data, tell: Callable[[Optional[Error], Any], None]) -> None:
        made = data(task)
        with self._lock:
            w = self._check()
            number = self._ask(tell)
            err = lib.worker_enqueue(w, name(queue), made, len(made), None, number)
            if err:
                del self._asked[number]
                raise error(err, lib.worker_error(w))

    def _put(self, queue: Text, job: Union[_rows.JobSpec, Data], tell: Callable[[Optional[Error], Any], None]) -> None:
        made = _rows.c_spec(job if isinstance(job, _rows.JobSpec) else _rows.JobSpec(job))
        with self._lock:
            w = self._check()
            number = self._ask(tell)
            err = lib.worker_put(w, name(queue), made.spec, None, number)
            if err:
                del self._asked[number]
                raise error(err, lib.worker_error(w))

    def _poll(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(max(0, int(seconds * 1000))))
