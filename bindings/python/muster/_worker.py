# SPDX-License-Identifier: MIT
"""A worker whose handlers run on threads of Python."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import select
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import Future
from queue import SimpleQueue
from types import FrameType
from typing import Any, Callable, NoReturn, Optional, Union

from ._core import Core, Served
from ._errors import Error
from ._library import Data, Text, life
from ._process import Process, Waiter
from ._rows import JobSpec


class _Wake:
    """A pipe that wakes who polls. It is closed when nobody has it any more: a hand may write to it after the worker has
    stopped, and its number must not be somebody else's then."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def send(self) -> None:
        try:
            os.write(self._writes, b"e")
        except BlockingIOError:  # it is full: who polls will wake
            pass

    def clear(self) -> None:
        try:
            os.read(self.reads, 4096)
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        os.close(self.reads)
        os.close(self._writes)


class Worker(Core[Process]):
    """A worker. Its handlers run on threads of Python, `hands` at once.

        worker = muster.Worker(hands=8)

        @worker.handler("mail")
        def send_mail(process):
            send(process.text)

        worker.run()

    What a handler returns is the result of its process, bytes or str; None: it has none. Then the process is finished.
    When it raises, the process fails: the group is the exception's class, the message the exception and where it came
    from. A job is retried by its own retries first. Retry, Fail and GiveBack are exceptions that say it in detail.

    run() on the main thread stops on SIGINT and SIGTERM: the first one lets handlers run on for `drain` seconds, a
    second one gives back at once. Elsewhere: start() and stop(), or `with worker:`, which stops it at the end.

    A worker is started once. When the program ends while it runs, handlers have a third of a second to end; then what
    it holds goes back to its queues. After a fork the child must not use it.
    """

    __doc__ += "\n" + (Core.__doc__ or "").split("\n", 2)[2]

    _tells_ended = False

    def _prepare(self) -> None:
        self._ready: SimpleQueue[Optional[Process]] = SimpleQueue()
        self._threads = 0
        self._told = threading.Condition()  # somebody was told to stop
        self._over = threading.Event()
        self._sleeps = False
        self._speaks = threading.Lock()
        self._wake = _Wake()

    # ---- life

    def start(self) -> None:
        """Start the worker, and return at once. While there is no Redis, it goes on trying."""
        self._open()
        threading.Thread(target=self._serve_all, name="muster-worker", daemon=True).start()

    def join(self, timeout: Optional[float] = None) -> bool:
        """Wait until the worker has stopped, at most so many seconds. Returns whether it has. Raises the error that
        ended it, if it was not asked to stop: Exists, Denied and the like."""
        if not self._over.wait(timeout):
            return False
        if self._error is not None:
            raise self._error
        return True

    def run(self) -> None:
        """Start the worker, and return when it has stopped. On the main thread SIGINT and SIGTERM stop it meanwhile."""
        is_main = threading.current_thread() is threading.main_thread()
        former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS} if is_main else {}
        try:
            self.start()
            self.join()
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: Optional[FrameType]) -> None:
        self.stop(0 if self._signalled else None)
        self._signalled = True

    _signalled = False

    def __enter__(self) -> "Worker":
        self.start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], why: Optional[BaseException], trace: Any) -> None:
        self.stop()
        try:
            self.join()
        except Error as refused:
            if why is None:
                raise
            why.add_note(f"muster: the worker of this block ended with an error: {refused}")
        except BaseException:  # Ctrl-C while handlers run on
            self.stop(0)
            self._over.wait()
            raise

    def _await_exit(self, end: float) -> None:
        self._over.wait(max(0, end - time.monotonic()))

    # ---- more work

    def enqueue(self, queue: Text, task: Data) -> "Future[int]":
        """Enqueue a task over the worker's own connection, together with its neighbours. Waits for nothing; the future
        has the answer, as Client.enqueue() gives it. A process that ends after this call ends after the task is
        there."""
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()
        self._enqueue(queue, task, functools.partial(_set, future))
        return future

    def put(self, queue: Text, job: Union[JobSpec, Data]) -> "Future[str]":
        """Put a job in the same way; the future has its id. A schedule (`cron`) is refused."""
        future: Future[str] = Future()
        future.set_running_or_notify_cancel()
        self._put(queue, job, functools.partial(_set, future))
        return future

    def _check_handler(self, handler: Callable[..., Any]) -> None:
        if not callable(handler) or inspect.iscoroutinefunction(handler):
            raise TypeError(f"a handler of Worker is a function, not {handler!r}; AsyncWorker has coroutines")

    # ---- speaking with the library
    #
    # It is for whoever holds `_speaks`: a thread of its own that sleeps until there is something, or a hand that has
    # nothing to do. The hand saves two changes of threads for what it has just ended and begins next.

    def _serve_all(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._wake.reads, select.POLLIN)
        while self._state == "running":
            with self._speaks:
                is_more = self._speak()
            if is_more or self._state != "running":
                continue
            self._sleeps = True
            if not self._ends:  # looked at after it is said that this thread sleeps: so nobody's end is missed
                poll.poll()
                self._wake.clear()
            self._sleeps = False
        for _ in range(self._threads):
            self._ready.put(None)

    def _speak(self) -> bool:
        if self._ends:
            self._flush()
        return self._read()

    def _wake_up(self) -> None:
        if self._sleeps:
            self._sleeps = False
            self._wake.send()

    def _make(self, pointer: int, task: bytes, served: Served, token: int, is_job: bool) -> Process:
        return Process(self, pointer, task, served, token, is_job)

    def _begin(self, process: Process) -> None:
        if self._threads < len(self._out):
            self._threads += 1
            threading.Thread(target=self._work, name=f"muster-hand-{self._threads}", daemon=True).start()
        self._ready.put(process)

    def _told_stop(self, process: Process) -> None:
        with self._told:
            self._told.notify_all()

    def _has_stopped(self) -> None:
        with self._told:
            self._told.notify_all()
        self._sleeps = False
        self._wake.send()  # its descriptor is closed: nothing else will
        self._over.set()

    # ---- a hand

    def _work(self) -> None:
        get, ends = self._ready.get, self._ends
        while (process := get()) is not None:
            try:
                result = process._served.handler(process)
            except BaseException as why:
                if self._life != life():
                    _end_child(why)
                process._outcome = self._judge(process, why)
            else:
                if self._life != life():
                    _end_child(None)
                if result is not None:
                    process._outcome = self._succeed(process, result)
            ends.append(process)
            process = None  # or this thread keeps it until the next one comes
            if self._ready.empty() and self._speaks.acquire(blocking=False):
                try:
                    self._speak()
                finally:
                    self._speaks.release()
            if ends:
                self._wake_up()

    def _end_now(self, process: Process, wait: bool) -> None:
        waiter = Waiter() if wait else None
        self._end_one(process, waiter.tell if waiter else None)
        if waiter:
            waiter.wait()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _end_child(why: Optional[BaseException]) -> NoReturn:
    """The handler has forked, and comes back in the child, where this thread is all that there is of the worker: nobody
    waits for it. The child ends as a program would that ends so."""
    status: Any = 0 if why is None else 1
    if isinstance(why, SystemExit):
        status = why.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    elif why is not None:
        traceback.print_exception(why)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit((status or 0) & 0xFF)


def _set(future: "Future[Any]", why: Optional[Error], value: Any) -> None:
    if why is None:
        future.set_result(value)
    else:
        future.set_exception(why)
