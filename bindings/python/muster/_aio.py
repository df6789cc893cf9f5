# SPDX-License-Identifier: MIT
"""The client and the worker for asyncio."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import inspect
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Awaitable, Callable, Iterable, Optional, Sequence, TypeVar, Union

from . import _abi, _rows
from ._client import Client, Lease, LeaseEnd, end_by_exception, extend_options, finish_options, retry_ms
from ._core import Core, Served, log
from ._errors import Cancelled, Error, Exhausted, Interrupted, Lost, NotFound
from ._handling import StopReason
from ._library import Data, Text, check_life, data, error, lib, life, ms, name, name_or_none, text
from ._process import BaseProcess
from ._rows import Ended, Job, JobSpec, ProcessInfo, Queue, WorkerInfo

_BATCH = 256
_SIZE = _abi.ANSWER.size

_T = TypeVar("_T")
Answer = tuple[int, ...]  # struct muster_answer
_Wanted = tuple[bytes, int, int]  # of a take: the queue, how many, the lease in ms
_TAKE = (Client.take, Client.take_one)
_WAIT = (Client.wait, *_TAKE)  # close() does not wait for them
_CLOSED = "the client was closed while this call waited; nothing stays taken"


class AsyncLease:
    """A task or job that was taken under a lease; as Lease, with ends that are awaited.

        if lease := await client.take_one("mail", lease=60):
            async with lease:
                await send(lease.task)

    At the end of the block it is finished, or failed, retried or given back by the exception: see Lease. When the task of
    asyncio is cancelled (CancelledError), it is given back.
    """

    def __init__(self, client: "AsyncClient", info: ProcessInfo, record: Optional[Job]) -> None:
        self._client = client
        self._ended = False
        self.id, self.queue, self.task = info.id, info.queue, info.task
        self.job, self.token, self.ends_at = record, info.token, info.ends_at

    @property
    def text(self) -> str:
        """The task as text, UTF-8."""
        return self.task.decode()

    def __repr__(self) -> str:
        return f"<muster.AsyncLease {self.id}>"

    async def _end(self, end: "Awaitable[None]") -> None:
        try:
            await end
        except (Lost, Cancelled, Exhausted):
            self._ended = True
            raise
        self._ended = True

    async def finish(
        self,
        result: _rows.Result = None,
        *,
        next: Optional[Text] = None,
        delay: float = 0,
        after: Sequence[Text] = (),
    ) -> None:
        """It is done."""
        await self._end(self._client.finish(self.id, result, next=next, delay=delay, after=after))

    async def give_back(self) -> None:
        """It is not done: back to the front of its queue, at once."""
        await self._end(self._client.give_back(self.id))

    async def retry(
        self, delay: Optional[float] = None, *, group: Optional[Text] = None, message: Optional[Text] = None
    ) -> None:
        """It is not done: to the end of its queue."""
        await self._end(self._client.retry(self.id, delay, group=group, message=message))

    async def fail(self, group: Optional[Text] = None, message: Optional[Text] = None) -> None:
        """It goes onto the failed list of its queue."""
        await self._end(self._client.fail(self.id, group, message))

    async def extend(
        self, lease: Optional[float] = None, *, progress: Optional[Text] = None, data: Optional[Data] = None
    ) -> None:
        """The lease ends so many seconds from now; or say how far the work is, or give the job new data."""
        await self._client.extend(self.id, lease, progress=progress, data=data)

    async def __aenter__(self) -> "AsyncLease":
        return self

    async def __aexit__(
        self, kind: Optional[type[BaseException]], why: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._ended:
            return
        if why is None:
            await self.finish()
            return
        try:
            await end_by_exception(self, why)
        except Exhausted:
            pass
        except Error as refused:
            why.add_note(f"muster: the end of {self.id} did not count: {refused}")


class AsyncClient:
    """A client for asyncio. Options are those of Client.

        async with muster.AsyncClient() as client:
            await asyncio.gather(*(client.enqueue("mail", who) for who in people))

    Calls that return a future, and take(), never block: they are made at once, in their order, on one connection, and
    thousands may be in flight; tasks for one queue that are enqueued one after the other go to Redis together. Any number
    of takes may wait; together they need one connection more. All other calls are coroutines that run on up to `threads`
    threads, each with a connection of its own; what more there is waits for its turn. call() does so with any method of
    Client.

    Cancelling. A call that waits (take(), wait()) ends at once when its task is cancelled, and what it took is given
    back. A take goes on waiting behind the scenes until its time is over: the next take of this queue, `n` and lease has
    what it brings; without one that goes back to the front at once. Any other call may or may not have been done: what a
    future stands for is not called back.

    It belongs to the loop in which it was first used. Errors are those of Client.
    """

    def __init__(self, url: Optional[str] = None, *, threads: int = 4, max_in_flight: int = 0, **options: Any) -> None:
        if threads < 1:
            raise ValueError(f"threads is at least 1: {threads}")
        self._make_client: Callable[[], Client] = lambda: Client(url, **options)
        self._client_options = Client.c_options(url, **options)
        self._options = _abi.new(_abi.AsyncOptions, max_in_flight=max_in_flight)
        self._options.client = ctypes.pointer(self._client_options)
        why = lib.async_options_check(ctypes.byref(self._options))
        if why:
            raise error(-2, why)
        self._threads = threads
        self._life = life()
        self._a: Optional[ctypes.c_void_p] = None
        self._fd = -1
        self._is_closed = False
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._asked: dict[int, tuple[asyncio.Future[Any], Callable[[Answer], Any]]] = {}
        self._next_ask = 1
        self._leases_of = self._leases  # one object, to be known again
        self._waiting: dict[asyncio.Future[Any], _Wanted] = {}  # takes that wait for work; each is in _asked, too
        self._left: dict[_Wanted, list[asyncio.Future[Any]]] = {}  # of these, those whose task was cancelled
        self._n_taking = 0  # who has not yet been told what his take brought
        self._rest: Optional[asyncio.Future[None]] = None  # close() waits until nothing more is to come
        self._buffer = ctypes.create_string_buffer(_BATCH * _SIZE)
        self._view = memoryview(self._buffer).cast("B")
        self._executor: Optional[ThreadPoolExecutor] = None
        self._free: list[Client] = []
        self._busy: dict[Client, bool] = {}  # whether it waits for long
        self._turn: Optional[asyncio.Semaphore] = None

    def _use(self) -> asyncio.AbstractEventLoop:
        check_life(self._life, "client")
        if self._is_closed:
            raise ValueError("the client is closed")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("the client belongs to another loop: make one in each")
        return loop

    # ---- what never blocks

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        made = ctypes.c_void_p()
        err = lib.async_new(ctypes.byref(made), ctypes.byref(self._options))
        if err:
            raise error(err, lib.async_options_check(ctypes.byref(self._options)))
        self._a, self._fd = made, lib.async_fd(made)
        loop.add_reader(self._fd, self._read)

    def _send(self, function: Callable[..., int], *args: Any, read: Callable[[Answer], Any]) -> "asyncio.Future[Any]":
        """Make a call. The future gets what read() makes of its answer."""
        loop = self._use()
        if self._a is None:
            self._open(loop)
        return self._ask(function, *args, read=read)

    def _ask(self, function: Callable[..., int], *args: Any, read: Callable[[Answer], Any]) -> "asyncio.Future[Any]":
        """The same while the client is being closed."""
        if self._a is None or self._loop is None:
            raise ValueError("the client is closed")
        number, self._next_ask = self._next_ask, self._next_ask + 1
        err = function(self._a, *args, None, number)
        if err:
            raise error(err, lib.async_error(self._a))
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked[number] = future, read
        return future

    def _read(self) -> None:
        if self._a is None:
            return
        ctypes.c_size_t.from_buffer(self._buffer).value = _SIZE
        n: int = lib.async_next(self._a, self._buffer, _BATCH)
        for answer in _abi.ANSWER.iter_unpack(self._view[: n * _SIZE]):
            err, words = answer[3], answer[5]
            why = error(err, ctypes.string_at(words) if words else None) if err else None
            future, read = self._asked.pop(answer[2])
            wanted = self._waiting.pop(future, None)
            if wanted is not None and self._forget_left(wanted, future):
                future.cancel()
            if why is not None and answer[10]:
                why.ids = [_id(answer)]
            if future.done():
                if read is self._leases_of and why is None:
                    self._give_back(read(answer))
            elif why is not None:
                future.set_exception(why)
            else:
                future.set_result(read(answer))
        self._look_for_rest()

    def _give_back(self, leases: list[AsyncLease]) -> None:
        """What came for a take that was cancelled meanwhile."""
        for lease in leases:
            try:
                back = self._ask(lib.async_give_back, name(lease.id), read=_nothing)
                back.add_done_callback(functools.partial(_gave_back, lease))
            except (Error, ValueError) as why:
                _could_not_give_back(lease, why)

    def _leases(self, answer: Answer) -> list[AsyncLease]:
        pointer, n = answer[7], answer[8]
        infos: Any = (_abi.ProcessInfo * n).from_address(pointer) if n else ()
        return [
            AsyncLease(self, _rows.process_row(p), _rows.job_row(p.record.contents) if p.record else None) for p in infos
        ]

    def enqueue(self, queue: Text, task: Data) -> "asyncio.Future[int]":
        """Enqueue one task. The future has how many wait then. After NoConnection or Timeout it may or may not be
        enqueued. Raises Busy at once if too many calls are in flight."""
        made = data(task)
        return self._send(lib.async_enqueue, name(queue), made, len(made), read=_waiting)

    def length(self, queue: Text) -> "asyncio.Future[int]":
        """How many tasks and jobs wait. See Client.length()."""
        return self._send(lib.async_length, name(queue), read=_waiting)

    def finish(
        self,
        process: Text,
        result: _rows.Result = None,
        *,
        next: Optional[Text] = None,
        delay: float = 0,
        after: Sequence[Text] = (),
    ) -> "asyncio.Future[None]":
        """End a process by its id. See Client.finish()."""
        options, _kept = finish_options(result, next, delay, after)
        return self._send(lib.async_finish, name(process), options, read=_nothing)

    def give_back(self, process: Text) -> "asyncio.Future[None]":
        """See Client.give_back()."""
        return self._send(lib.async_give_back, name(process), read=_nothing)

    def retry(
        self,
        process: Text,
        delay: Optional[float] = None,
        *,
        group: Optional[Text] = None,
        message: Optional[Text] = None,
    ) -> "asyncio.Future[None]":
        """See Client.retry()."""
        return self._send(
            lib.async_retry_as,
            name(process),
            retry_ms(delay),
            name_or_none(group),
            name_or_none(message),
            read=_nothing,
        )

    def fail(
        self, process: Text, group: Optional[Text] = None, message: Optional[Text] = None
    ) -> "asyncio.Future[None]":
        """See Client.fail()."""
        return self._send(lib.async_fail, name(process), name_or_none(group), name_or_none(message), read=_nothing)

    def extend(
        self,
        process: Text,
        lease: Optional[float] = None,
        *,
        progress: Optional[Text] = None,
        data: Optional[Data] = None,
    ) -> "asyncio.Future[None]":
        """See Client.extend()."""
        options, _kept = extend_options(lease, progress, data)
        return self._send(lib.async_extend, name(process), options, read=_nothing)

    def put(self, queue: Text, job: Union[JobSpec, Data]) -> "asyncio.Future[str]":
        """Put a job: a JobSpec, or its data. The future has its id. Raises Exists if a job of this id is alive. Any error
        of the future has the id in `ids`: after NoConnection or Timeout the same job put under it is not put twice. A
        schedule (`cron`) needs a thread."""
        spec = job if isinstance(job, JobSpec) else JobSpec(job)
        if spec.cron is not None:
            return asyncio.ensure_future(self.call(Client.put, queue, spec))
        made = _rows.c_spec(spec)
        return self._send(lib.async_put, name(queue), made.spec, read=_id)

    # ---- takes

    async def take(
        self, queue: Text, n: int = 1, *, lease: float, wait: float = 0, holder: Optional[Text] = None
    ) -> list[AsyncLease]:
        """Take up to `n` tasks under a lease. See Client.take(). Of many small tasks it brings 256 at once: there may be
        more. With a `holder` it needs a thread. close() ends a take that waits: it raises Interrupted."""
        if holder is not None:
            taken = await self._on_thread(
                lambda client: client.take(queue, n, lease=lease, wait=wait, holder=holder), _give_all_back, waits=True
            )
            return [AsyncLease(self, one.info, one.job) for one in taken]
        self._n_taking += 1
        try:
            return await self._take((name(queue), n, ms(lease, "lease")), ms(wait, "wait"))
        finally:
            self._n_taking -= 1
            self._look_for_rest()

    async def _take(self, wanted: _Wanted, wait_ms: int) -> list[AsyncLease]:
        """A take that waits is not called back. So one that was left is used again, as long as it lasts: otherwise a
        program that waits a little, again and again, would have ever more of them under way."""
        loop = self._use()
        end = loop.time() + wait_ms / 1000
        while True:
            taking = self._one_that_was_left(wanted) if wait_ms > 0 else None
            is_own = taking is None
            if taking is None:
                taking = self._send(lib.async_take, *wanted, wait_ms, read=self._leases_of)
                if wait_ms > 0:
                    self._waiting[taking] = wanted
            try:
                await asyncio.wait([taking], timeout=None if is_own else max(0.0, end - loop.time()))
            except asyncio.CancelledError:
                self._leave(taking)
                raise
            if not taking.done():
                self._leave(taking)
                return []
            try:
                leases: list[AsyncLease] = taking.result()
                return leases
            except NotFound:
                if is_own:
                    return []
                wait_ms = max(1, round((end - loop.time()) * 1000))

    def _leave(self, taking: "asyncio.Future[Any]") -> None:
        wanted = self._waiting.get(taking)
        if wanted is not None and not taking.done():
            self._left.setdefault(wanted, []).append(taking)
        elif not taking.cancel() and taking.exception() is None:
            self._give_back(taking.result())

    def _one_that_was_left(self, wanted: _Wanted) -> "Optional[asyncio.Future[Any]]":
        left = self._left.get(wanted)
        if not left:
            return None
        taking = left[-1]
        self._forget_left(wanted, taking)
        return taking

    def _forget_left(self, wanted: _Wanted, taking: "asyncio.Future[Any]") -> bool:
        left = self._left.get(wanted, [])
        if taking not in left:
            return False
        left.remove(taking)
        if not left:
            del self._left[wanted]
        return True

    async def take_one(
        self, queue: Text, *, lease: float, wait: float = 0, holder: Optional[Text] = None
    ) -> Optional[AsyncLease]:
        """Take one task; None if there is none (in time)."""
        taken = await self.take(queue, 1, lease=lease, wait=wait, holder=holder)
        return taken[0] if taken else None

    # ---- what runs on threads

    async def call(self, method: Callable[..., _T], *args: Any, **options: Any) -> _T:
        """Any method of Client, on a thread: `await client.call(Client.stats, "mail")`."""
        undo = _give_all_back if method in _TAKE else None
        return await self._on_thread(lambda client: method(client, *args, **options), undo, waits=method in _WAIT)

    async def _on_thread(
        self, function: Callable[[Client], _T], undo: Optional[Callable[[Client, Any], None]] = None, waits: bool = False
    ) -> _T:
        loop = self._use()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix="muster-aio")
            self._turn = asyncio.Semaphore(self._threads)
        assert self._turn is not None
        async with self._turn:
            self._use()
            client = self._free.pop() if self._free else self._make_client()
            self._busy[client] = waits
            try:
                running = loop.run_in_executor(self._executor, function, client)
                try:
                    return await asyncio.shield(running)
                except asyncio.CancelledError:
                    self._busy[client] = False  # what undoes it must not be interrupted
                    client.interrupt()
                    await _insist(running)
                    client.take_interrupt_back()
                    if undo is not None and running.exception() is None:
                        await _insist(loop.run_in_executor(self._executor, undo, client, running.result()))
                    raise
            finally:
                del self._busy[client]
                self._free.append(client)
                self._look_for_rest()

    async def enqueue_many(
        self, queue: Text, tasks: Iterable[Data], *, at_front: bool = False, request_id: Optional[Text] = None
    ) -> int:
        """See Client.enqueue_many()."""
        return await self.call(Client.enqueue_many, queue, list(tasks), at_front=at_front, request_id=request_id)

    async def enqueue_unique(self, queue: Text, task: Data) -> str:
        """See Client.enqueue_unique()."""
        return await self.call(Client.enqueue_unique, queue, task)

    async def put_many(
        self, queue: Text, jobs: Iterable[Union[JobSpec, Data]], *, request_id: Optional[Text] = None
    ) -> list[str]:
        """See Client.put_many()."""
        return await self.call(Client.put_many, queue, list(jobs), request_id=request_id)

    async def end_many(self, ends: Iterable[LeaseEnd]) -> list[Optional[Error]]:
        """See Client.end_many()."""
        return await self.call(Client.end_many, list(ends))

    async def extend_many(
        self,
        processes: Iterable[Text],
        lease: Optional[float] = None,
        *,
        progress: Optional[Text] = None,
        data: Optional[Data] = None,
    ) -> list[Optional[Error]]:
        """See Client.extend_many()."""
        return await self.call(Client.extend_many, list(processes), lease, progress=progress, data=data)

    async def wait(self, ids: Iterable[Text], timeout: Optional[float] = None) -> dict[str, Ended]:
        """See Client.wait()."""
        return await self.call(Client.wait, list(ids), timeout)

    async def job(self, id: Text) -> Job:
        """See Client.job()."""
        return await self.call(Client.job, id)

    async def peek_job(self, id: Text) -> Job:
        """See Client.peek_job()."""
        return await self.call(Client.peek_job, id)

    async def cancel(self, queue: Text, task: Data) -> tuple[int, int]:
        """See Client.cancel()."""
        return await self.call(Client.cancel, queue, task)

    async def cancel_jobs(self, ids: Iterable[Text], *, dependents: bool = False) -> tuple[int, int]:
        """See Client.cancel_jobs()."""
        return await self.call(Client.cancel_jobs, list(ids), dependents=dependents)

    async def queue(self, queue: Text) -> Queue:
        """See Client.queue()."""
        return await self.call(Client.queue, queue)

    async def queues(self) -> list[Queue]:
        """See Client.queues()."""
        return await self.call(Client.queues)

    async def workers(self) -> list[WorkerInfo]:
        """See Client.workers()."""
        return await self.call(Client.workers)

    async def processes(self) -> list[ProcessInfo]:
        """See Client.processes()."""
        return await self.call(Client.processes)

    async def pause(self, queue: Text) -> None:
        """See Client.pause()."""
        await self.call(Client.pause, queue)

    async def resume(self, queue: Text) -> None:
        """See Client.resume()."""
        await self.call(Client.resume, queue)

    # ---- its end

    async def close(self) -> None:
        """Wait until all that was asked for has its answer, which is bounded by `timeout`; then close the connections.
        Calls that wait for work or for jobs are ended: they raise Interrupted. To close it twice is no error."""
        if self._is_closed or self._life != life():
            return
        loop = asyncio.get_running_loop()
        is_its_own = self._loop is None or self._loop is loop
        if not is_its_own and self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("the client belongs to another loop: close it there")
        self._is_closed = True
        try:
            if is_its_own:
                self._end_waits()
                while not self._is_at_rest():  # an answer may have come since it was, and is given back now
                    self._rest = loop.create_future()
                    await self._rest
        finally:
            a, self._a = self._a, None
            if a is not None:
                if self._loop is not None:
                    self._loop.remove_reader(self._fd)
                await _insist(loop.run_in_executor(None, lib.async_free, a))
            free, self._free = self._free, []
            for client in free:
                await loop.run_in_executor(self._executor, client.close)
            if self._executor is not None:
                self._executor.shutdown(wait=False)

    def _end_waits(self) -> None:
        """The library goes on waiting: what it takes until it is freed is given back."""
        left = [taking for takings in self._left.values() for taking in takings]
        self._left.clear()
        for taking in left:
            taking.cancel()
        for taking in self._waiting:
            if not taking.done():
                taking.set_exception(Interrupted(_CLOSED))
        for client, waits in self._busy.items():
            if waits:
                client.interrupt()

    def _look_for_rest(self) -> None:
        """Is nothing more to come for close()?"""
        if self._rest is not None and not self._rest.done() and self._is_at_rest():
            self._rest.set_result(None)

    def _is_at_rest(self) -> bool:
        return not self._n_taking and not self._busy and len(self._asked) == len(self._waiting)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def __del__(self) -> None:
        a = getattr(self, "_a", None)
        if a is not None and self._life == life():
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._fd)
            lib.async_free(a)


def _waiting(answer: Answer) -> int:
    waiting: int = answer[6]
    return waiting


def _nothing(answer: Answer) -> None:
    return None


def _id(answer: Answer) -> str:
    return text(ctypes.string_at(answer[10]))


def _gave_back(lease: AsyncLease, back: "asyncio.Future[Any]") -> None:
    if (why := back.exception()) is not None:
        _could_not_give_back(lease, why)


def _could_not_give_back(lease: AsyncLease, why: BaseException) -> None:
    log.warning("%r was taken for a call that was cancelled, and could not be given back: %s", lease, why)


def _set(future: "asyncio.Future[Any]", why: Optional[Error], value: Any) -> None:
    if future.done():  # cancelled
        return
    if why is None:
        future.set_result(value)
    else:
        future.set_exception(why)


def _give_all_back(client: Client, taken: Union[list[Lease], Optional[Lease]]) -> None:
    client.give_back_all([taken] if isinstance(taken, Lease) else taken or [])


async def _insist(running: "asyncio.Future[Any]") -> None:
    """Wait for something that must be over, whatever is cancelled meanwhile."""
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            pass


# ---- the worker


class AsyncProcess(BaseProcess):
    """One task or job in the hands of an AsyncWorker: what its handlers get.

    When the handler is to stop, its task is cancelled: asyncio.CancelledError is raised where it awaits, and
    `stop_reason` says why. What it does not catch gives the process back, and past a limit ends it as `on_limit` says.
    """

    __slots__ = ("_task",)
    _task: "Optional[asyncio.Task[Any]]"

    async def _end(self, outcome: int) -> None:
        core: Any = self._core
        self._outcome = outcome
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        core._end_one(self, lambda why: _set(future, why, None))
        await future

    async def finish(self, result: _rows.Result = None) -> None:
        """End the process now, before the handler returns: it is done. Returns when the end has counted, or raises why
        it has not: Lost, Cancelled. What the handler returns or raises afterwards means nothing."""
        self._set_result(result)
        await self._end(_abi.FINISH)

    async def give_back(self) -> None:
        """End the process now: not done, back to the front of its queue."""
        await self._end(_abi.GIVE_BACK)

    async def retry(
        self, delay: Optional[float] = None, *, group: Optional[Text] = None, message: Optional[Text] = None
    ) -> None:
        """End the process now: not done, to the end of its queue. See muster.Retry."""
        self._set_failure(group, message)
        self._set_retry(delay)
        await self._end(_abi.RETRY)

    async def fail(self, message: Optional[Text] = None, *, group: Optional[Text] = None) -> None:
        """End the process now: onto the failed list of its queue."""
        self._set_failure(group, message)
        await self._end(_abi.FAIL)


class AsyncWorker(Core[AsyncProcess]):
    """A worker whose handlers are coroutines, `hands` at once in one loop.

        worker = muster.AsyncWorker(hands=100)

        @worker.handler("mail")
        async def send_mail(process):
            await send(process.text)

        asyncio.run(worker.run())

    What a handler returns or raises means what it means with Worker; a CancelledError gives the process back. When a
    handler is to stop, its task is cancelled. A handler that does not await for longer than the ttl does no harm to the
    worker, which lives on a thread of the library, but is not told anything meanwhile.

    run() stops on SIGINT and SIGTERM, if it is on the main thread: the first one lets handlers run on for `drain`
    seconds, a second one gives back at once. If run() is cancelled, all is given back at once. Elsewhere: start(),
    stop() and join(), or `async with worker:`. When the loop ends before the worker has stopped, all is given back, too, if
    it is ended by asyncio.run(), which cancels what runs.
    """

    __doc__ += "\n" + (Core.__doc__ or "").split("\n", 2)[2]

    _tells_ended = True

    def _prepare(self) -> None:
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._guard: Optional[asyncio.Task[None]] = None
        self._over: Optional[asyncio.Event] = None
        self._is_flush_due = False
        self._is_leaving = False
        self._signalled = False

    # ---- life

    async def start(self) -> None:
        """Start the worker, and return at once. While there is no Redis, it goes on trying."""
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._open()
        self._loop.add_reader(self._fd, self._read)
        self._guard = self._loop.create_task(self._watch_loop(self._over))

    async def _watch_loop(self, over: asyncio.Event) -> None:
        # At its end asyncio.run() cancels all tasks, this one, too, and waits for them.
        try:
            await over.wait()
        except asyncio.CancelledError:
            await self._stop_at_once()
            raise

    async def join(self) -> None:
        """Wait until the worker has stopped. Raises the error that ended it, if it was not asked to stop."""
        if self._over is None:
            self._check()
            return
        await self._over.wait()
        if self._error is not None:
            raise self._error

    async def run(self) -> None:
        """Start the worker, and return when it has stopped."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
        for number in signals:
            loop.add_signal_handler(number, self._on_signal)
        try:
            await self.start()
            await self.join()
        except asyncio.CancelledError:
            await self._stop_at_once()
            raise
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        self.stop(0 if self._signalled else None)
        self._signalled = True

    async def _stop_at_once(self) -> None:
        over = self._over
        if over is None or self._state != "running":
            return
        self._is_leaving = True
        for process in list(self._out.values()):
            if process._task is not None:
                process._task.cancel()
        self.stop(0)
        await _insist(asyncio.ensure_future(over.wait()))

    async def __aenter__(self) -> "AsyncWorker":
        await self.start()
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], why: Optional[BaseException], trace: Any) -> None:
        if isinstance(why, asyncio.CancelledError):
            await self._stop_at_once()
            return
        self.stop()
        try:
            await self.join()
        except Error as refused:
            if why is None:
                raise
            why.add_note(f"muster: the worker of this block ended with an error: {refused}")
        except asyncio.CancelledError:
            await self._stop_at_once()
            raise

    def _close(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._fd)
        super()._close()

    def _has_stopped(self) -> None:
        if self._over is not None:
            self._over.set()

    def _await_exit(self, end: float) -> None:
        # The loop does not run any more.
        while self._state == "running" and (left := end - time.monotonic()) > 0:
            if self._poll(left):
                self._read()

    # ---- more work

    def enqueue(self, queue: Text, task: Data) -> "asyncio.Future[int]":
        """Enqueue a task over the worker's own connection, together with its neighbours. The call is made at once; await
        the future for the answer. A process that ends after this call ends after the task is there."""
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(queue, task, functools.partial(_set, future))
        return future

    def put(self, queue: Text, job: Union[JobSpec, Data]) -> "asyncio.Future[str]":
        """Put a job in the same way; the future has its id. A schedule (`cron`) is refused."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._put(queue, job, functools.partial(_set, future))
        return future

    # ---- handlers

    def _check_handler(self, handler: Callable[..., Any]) -> None:
        call = getattr(handler, "__call__", None)
        if not inspect.iscoroutinefunction(handler) and not inspect.iscoroutinefunction(call):
            raise TypeError(f"a handler of AsyncWorker is a coroutine function, not {handler!r}; Worker has functions")

    def _make(self, pointer: int, task: bytes, served: Served, token: int, is_job: bool) -> AsyncProcess:
        return AsyncProcess(self, pointer, task, served, token, is_job)

    def _begin(self, process: AsyncProcess) -> None:
        assert self._loop is not None
        if self._is_leaving:  # the worker has been told to stop, and has not heard of it yet
            process._task = None
            self._has_ended(process, _abi.GIVE_BACK)
            return
        try:
            task = self._loop.create_task(process._served.handler(process))
        except Exception as why:  # it does not take one argument
            process._task = None
            self._has_ended(process, self._judge(process, why))
            return
        process._task = task
        # Not in a coroutine around it: one that is cancelled before its first step never begins.
        task.add_done_callback(functools.partial(self._handled, process))

    def _told_stop(self, process: AsyncProcess) -> None:
        is_to_stop = process.stop_reason is not StopReason.GO_ON
        if is_to_stop and process._task is not None and self._loop is not None and not self._loop.is_closed():
            process._task.cancel()

    def _handled(self, process: AsyncProcess, task: "asyncio.Task[Any]") -> None:
        process._task = None
        if task.cancelled():
            outcome = _abi.GIVE_BACK
        elif (why := task.exception()) is None:
            result = task.result()
            outcome = process._outcome if result is None else self._succeed(process, result)
        elif isinstance(why, (KeyboardInterrupt, SystemExit)):  # the loop ends with it
            outcome = _abi.GIVE_BACK
        else:
            outcome = self._judge(process, why)
        self._has_ended(process, outcome)

    def _has_ended(self, process: AsyncProcess, outcome: int) -> None:
        process._outcome = outcome
        self._ends.append(process)
        if not self._is_flush_due and self._loop is not None:
            self._is_flush_due = True
            self._loop.call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._is_flush_due = False
        self._flush()
        self._read()  # what comes next may be there already
