# SPDX-License-Identifier: MIT
"""Listening to queues and jobs."""

from __future__ import annotations

import asyncio
import ctypes
import select
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, AsyncIterator, Iterator, Optional

from . import _abi
from ._client import Client
from ._errors import Error, Invalid
from ._library import Text, bytes_at, check_life, error, lib, life, name_or_none, text, text_or_none

_BATCH = 256
ALL = _abi.LISTEN_KINDS


@dataclass(frozen=True)
class JobHappening:
    """Something that happened to a job: `what` is "put", "taken", "completed", "failed" and so on; struct
    muster_job_event in job.h has all of them."""

    what: str
    id: str
    queue: str
    worker: str
    text: str
    at: float
    tracked: bool


@dataclass(frozen=True)
class Heard:
    """Something that a listener has heard.

    `type` is "ready" (all that happens in the queue from now on is heard), "gap" (until the next "ready" something may be
    missed; `error` says why), "done", "cancelled", "deleted" or "job". What does not belong to it is None. `queue` is
    None where jobs of all queues are listened to."""

    type: str
    queue: Optional[str]
    error: Optional[Error] = None
    process: Optional[str] = None
    worker: Optional[str] = None
    task: Optional[bytes] = None
    result: Optional[bytes] = None
    job: Optional[JobHappening] = None
    holder: Optional[str] = None  # "done": the name under which its lease was taken


def _heard(h: Any) -> Heard:
    job = None
    if h.job:
        j = h.job.contents
        job = JobHappening(
            text(j.what), text(j.id), text(j.queue), text(j.worker), text(j.text), j.at_ms / 1000, bool(j.tracked)
        )
    return Heard(
        type=_abi.HEARD[h.type - 1] if 0 < h.type <= len(_abi.HEARD) else "unknown",
        queue=text_or_none(h.queue),
        error=error(h.err, h.text) if h.err else None,
        process=text_or_none(h.process),
        worker=text_or_none(h.worker),
        task=bytes_at(h.task, h.len) if h.task else None,
        result=bytes_at(h.result.contents.data, h.result.contents.len) if h.result else None,
        job=job,
        holder=text_or_none(h.holder),
    )


class _Base:
    def __init__(self, url: Optional[str] = None, *, max_heard: int = 0, max_bytes: int = 0, **options: Any) -> None:
        self._l: Optional[ctypes.c_void_p] = None
        self._life = life()
        self._lock = threading.Lock()
        given = Client.c_options(url, **options)
        made, l = _abi.new(_abi.ListenerOptions, max_heard=max_heard, max_bytes=max_bytes), ctypes.c_void_p()
        made.client = ctypes.pointer(given)
        err = lib.listener_new(ctypes.byref(l), ctypes.byref(made))
        if err:
            raise error(err, lib.listener_options_check(ctypes.byref(made)))
        self._l, self._fd = l, lib.listener_fd(l)
        self._heard: deque[Heard] = deque()
        self._rows = (_abi.Heard * _BATCH)()

    def _check(self) -> ctypes.c_void_p:
        """The library's listener. Under the lock: it is freed there."""
        check_life(self._life, "listener")
        if self._l is None:
            raise ValueError("the listener is closed")
        return self._l

    def add(self, queue: Optional[Text], *kinds: str) -> None:
        """Listen to a queue, which need not exist: to all, or to these kinds: "done", "cancelled", "deleted", "jobs".
        `queue` None, with "jobs" alone: the jobs of all queues. "ready" comes when listening has begun. Any thread."""
        unknown = [kind for kind in kinds if kind not in ALL]
        if unknown:
            raise Invalid(f"kinds are {', '.join(ALL)}, not {unknown[0]!r}")
        bits = sum(1 << ALL.index(kind) for kind in set(kinds or ALL))
        with self._lock:
            l = self._check()
            err = lib.listener_add(l, name_or_none(queue), bits)
            if err:
                raise error(err, lib.listener_error(l))

    def remove(self, queue: Optional[Text]) -> None:
        """Listen to a queue no more. Any thread."""
        with self._lock:
            l = self._check()
            err = lib.listener_remove(l, name_or_none(queue))
            if err:
                raise error(err, lib.listener_error(l))

    def _take(self) -> Optional[Heard]:
        """The next one that is there."""
        if not self._heard:
            with self._lock:
                self._rows[0].size = ctypes.sizeof(_abi.Heard)
                n: int = lib.listener_next(self._check(), self._rows, _BATCH)
                for i in range(n):  # what they point to lives until the next call
                    self._heard.append(_heard(self._rows[i]))
        return self._heard.popleft() if self._heard else None

    def _free(self) -> None:
        with self._lock:
            l, self._l = self._l, None
        if l is not None and self._life == life():
            lib.listener_free(l)

    def __del__(self) -> None:
        if getattr(self, "_l", None) is not None:
            self._free()


class Listener(_Base):
    """Hears what happens in any number of queues, and to jobs; it connects again by itself. Options are those of Client;
    `max_heard` events and `max_bytes` bytes are kept that were not taken, and "gap" tells of more.

        with muster.Listener() as listener:
            listener.add("mail", "done")
            for heard in listener:
                print(heard.type, heard.task)

    Events are heard at most once, and only while somebody listens. Who must not miss any looks at the queue after each
    "ready". One thread at a time may take.
    """

    def next(self, timeout: Optional[float] = None) -> Optional[Heard]:
        """The next event; None if there is none within so many seconds. None: it waits for ever."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        end = None if timeout is None else time.monotonic() + timeout
        while (heard := self._take()) is None:
            left = None if end is None else max(0, end - time.monotonic())
            if not poll.poll(None if left is None else left * 1000) and end is not None and time.monotonic() >= end:
                return None
        return heard

    def __iter__(self) -> Iterator[Heard]:
        while True:
            heard = self.next()
            assert heard is not None
            yield heard

    def close(self) -> None:
        """Listen no more. To close it twice is no error. Not while another thread takes."""
        self._free()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class AsyncListener(_Base):
    """A Listener for asyncio.

        async with muster.AsyncListener() as listener:
            listener.add("mail")
            async for heard in listener:
                print(heard.type, heard.task)

    One task at a time may take. When it is cancelled, nothing is lost: what comes waits for the next one.
    """

    _has_given = False  # something, since it has left the loop to others

    async def next(self) -> Heard:
        """The next event; it waits for it. A caller that gives it no time, as by asyncio.timeout(0), gets what is there, but
        now and then other tasks have a turn first: ask once more then."""
        loop = asyncio.get_running_loop()
        if not self._heard and self._has_given:  # who iterates leaves the loop to others, however much is there
            self._has_given = False
            await asyncio.sleep(0)
        while (heard := self._take()) is None:
            there: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self._fd, _set_once, there)
            try:
                await there
            finally:
                loop.remove_reader(self._fd)
        self._has_given = True
        return heard

    def __aiter__(self) -> AsyncIterator[Heard]:
        return self

    async def __anext__(self) -> Heard:
        return await self.next()

    async def close(self) -> None:
        """Listen no more. To close it twice is no error."""
        await asyncio.get_running_loop().run_in_executor(None, self._free)

    async def __aenter__(self) -> "AsyncListener":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


def _set_once(there: "asyncio.Future[None]") -> None:
    if not there.done():
        there.set_result(None)
