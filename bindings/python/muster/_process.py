# SPDX-License-Identifier: MIT
"""What a handler gets: one task or job in the worker's hands."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import _abi, _rows
from ._errors import Lost
from ._handling import GiveBack, StopReason, failure_names
from ._library import Data, Text, data, error, lib, ms, name, name_or_none, names, text
from ._rows import Job

if TYPE_CHECKING:
    from ._core import Core, Served


class BaseProcess:
    """One task or job in the worker's hands. It belongs to the handler until that returns.

    Calls are for any thread. Once the process has ended they raise Lost, and `stopped` is True.
    """

    __slots__ = ("_core", "_pointer", "_served", "_outcome", "_id", "_record", "_is_job", "task", "token", "__weakref__")

    def __init__(
        self, core: "Core[Any]", pointer: int, task: bytes, served: "Served", token: int, is_job: bool
    ) -> None:
        self._core = core
        self._pointer: Optional[int] = pointer
        self._served = served
        self._outcome = _abi.FINISH
        self._id: Optional[str] = None
        self._record: Optional[Job] = None
        self._is_job = is_job
        self.task = task
        """The task's bytes, or the job's data."""
        self.token = token
        """Rises with every take in the namespace: what has seen a later one may refuse this one (fencing)."""

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        # The lock keeps the process from being ended, and the worker from being freed, by another thread meanwhile.
        with self._core._lock:
            if self._pointer is None:
                raise Lost("the process has ended")
            return function(self._pointer, *args)

    def _must(self, function: Callable[..., int], *args: Any) -> None:
        err = self._call(function, *args)
        if err:
            raise error(err, None)

    # ---- what it is

    @property
    def text(self) -> str:
        """The task as text, UTF-8."""
        return self.task.decode()

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self._served.queue

    @property
    def id(self) -> str:
        """`<worker>:<token>:<queue>`: any client that knows it may end the process. To be read before the end."""
        if self._id is None:
            self._id = text(self._call(lib.process_id))
        return self._id

    @property
    def job(self) -> Optional[Job]:
        """The job's record as it was when it was taken; None: it is a task. To be read before the end."""
        if self._is_job and self._record is None:
            self._record = self._call(lambda p: _rows.job_row(lib.process_job(p).contents))
        return self._record

    @property
    def worker(self) -> Any:
        """The worker that runs it."""
        return self._core

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id or self.token} of {self.queue}>"

    # ---- whether to go on

    @property
    def stop_reason(self) -> StopReason:
        """Whether the handler is to stop, and why."""
        try:
            return StopReason(self._call(lib.process_stop_reason))
        except Lost:
            return StopReason.LOST

    @property
    def stopped(self) -> bool:
        """Whether the handler is to stop. Ask as often as you like."""
        return self.stop_reason is not StopReason.GO_ON

    def raise_if_stopped(self) -> None:
        """Raise GiveBack if the handler is to stop: then the task goes where its stop reason wants it."""
        if self.stopped:
            raise GiveBack

    @property
    def move_time(self) -> Optional[float]:
        """How long the handler still has to give back what is to move; None: it was not asked to."""
        left: int = self._call(lib.process_move_ms)
        return None if left < 0 else left / 1000

    def stay(self, span: float = 0) -> None:
        """It stays here, and is not asked to move for so long; 0: ten minutes."""
        self._must(lib.process_stay, ms(span, "span"))

    # ---- while it runs

    def progress(self, note: Text) -> None:
        """Say how far the work is: a note that lists show. "" removes it. Waits for nothing."""
        self._must(lib.process_progress, name(note))

    def extend(self, limit: float) -> None:
        """Its time limit ends so many seconds from now; 0: it has no limit any more."""
        self._must(lib.process_extend, ms(limit, "limit"))

    def set_data(self, new: Data) -> None:
        """Give the job new data, which its next taker gets."""
        made = data(new)
        self._must(lib.process_set_data, made, len(made))

    def go_on_in(self, queue: Optional[Text], delay: float = 0, *, after: Sequence[Text] = ()) -> None:
        """When the job is finished it goes on to this queue, after `delay`, when the jobs `after` are complete. None:
        nowhere."""
        others = names(after)
        n = 0 if others is None else len(others)
        self._must(lib.process_set_next, name_or_none(queue), ms(delay, "delay"), others, n)

    # ---- what its end brings along

    def _set_result(self, result: Any) -> None:
        if result is not None:
            made = data(result)
            self._must(lib.process_set_result, made, len(made))

    def _set_retry(self, delay: Optional[float]) -> None:
        if delay is not None:
            self._must(lib.process_set_retry, ms(delay, "delay"))

    def _set_failure(self, group: Optional[Text], message: Optional[Text]) -> None:
        made = failure_names(group, message)
        if made != (None, None):
            self._must(lib.process_set_failure, *made)


class Process(BaseProcess):
    """One task or job in the hands of a Worker: what its handlers get."""

    __slots__ = ()

    def wait_stopped(self, timeout: Optional[float] = None) -> bool:
        """Sleep until the handler is to stop, at most so many seconds. Returns whether it is. For a handler that has to
        wait anyway."""
        core: Any = self._core
        with core._told:
            core._told.wait_for(lambda: self.stopped, timeout)
        return self.stopped

    def _end(self, outcome: int, wait: bool) -> None:
        core: Any = self._core
        self._outcome = outcome
        core._end_now(self, wait)

    def finish(self, result: _rows.Result = None, *, wait: bool = False) -> None:
        """End the process now, before the handler returns: it is done. For at most once: finish before you start.

        With `wait`, and a worker that has `tell_ended`, it returns when the end has counted, or raises why it has not:
        Lost, Cancelled. What the handler returns or raises afterwards means nothing."""
        self._set_result(result)
        self._end(_abi.FINISH, wait)

    def give_back(self, *, wait: bool = False) -> None:
        """End the process now: not done, back to the front of its queue."""
        self._end(_abi.GIVE_BACK, wait)

    def retry(
        self,
        delay: Optional[float] = None,
        *,
        group: Optional[Text] = None,
        message: Optional[Text] = None,
        wait: bool = False,
    ) -> None:
        """End the process now: not done, to the end of its queue. See muster.Retry."""
        self._set_failure(group, message)
        self._set_retry(delay)
        self._end(_abi.RETRY, wait)

    def fail(self, message: Optional[Text] = None, *, group: Optional[Text] = None, wait: bool = False) -> None:
        """End the process now: onto the failed list of its queue."""
        self._set_failure(group, message)
        self._end(_abi.FAIL, wait)


class Waiter:
    """Somebody who waits until an end has counted."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._why: Optional[BaseException] = None

    def tell(self, why: Optional[BaseException]) -> None:
        self._why = why
        self._event.set()

    def wait(self) -> None:
        self._event.wait()
        if self._why is not None:
            raise self._why
