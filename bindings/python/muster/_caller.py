# SPDX-License-Identifier: MIT
"""Calls of C that may wait, and a signal that is to end them.

Python runs the handlers of signals, and so raises KeyboardInterrupt, on the main thread, and only between two steps of
its own: not while C waits for Redis. So a call of the main thread needs help; other threads call directly, since no
signal reaches them.

Brief calls, which wait for no more than Redis' answer: Python's own handler in C writes the signal's number to a
descriptor, a thread reads it, and interrupts the call. It does so for SIGINT if that raises KeyboardInterrupt; what
other handlers do nobody knows, and they run when the call is over. This costs two microseconds.

All others, which wait for long or call back for each row: they run on another thread while the main thread waits for a
lock, which signals do interrupt. For an exception that the handler of a signal raises inside a callback of C is lost.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from _thread import start_new_thread  # that of threading waits, and breaks if a signal raises meanwhile
from queue import SimpleQueue
from typing import Any, Callable, Optional

_get_ident = threading.get_ident


class _Watch:
    """Who is in a brief call on the main thread, and the thread that interrupts it."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)
        self._current: Optional[Caller] = None
        self._lock = threading.Lock()
        start_new_thread(self._serve, ())

    def call(self, caller: "Caller", function: Callable[[], Any]) -> Any:
        former = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        try:
            if former not in (-1, self._write.fileno()):  # somebody else's, as a loop's: it must hear of its signals
                signal.set_wakeup_fd(former)
            self._current = caller
            return function()
        finally:
            with self._lock:
                self._current = None
            signal.set_wakeup_fd(former)

    def _serve(self) -> None:
        while numbers := self._read.recv(64):
            if signal.SIGINT in numbers and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                with self._lock:
                    if self._current is not None:
                        self._current.end_brief()


_watch: Optional[_Watch] = None


def _forget_watch() -> None:
    global _watch
    _watch = None  # its thread is the parent's


os.register_at_fork(after_in_child=_forget_watch)


class _Call:
    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.done = threading.Lock()
        self.done.acquire()
        self.ended = False
        self.dropped = False
        self.result: Any = None
        self.why: Optional[BaseException] = None

    def run(self) -> None:
        if self.ended:
            return
        try:
            if not self.dropped:
                self.result = self.function()
        except BaseException as why:
            self.why = why
        self.ended = True
        self.done.release()


class Caller:
    """Runs one call after the other. `interrupt` ends the one that runs, and `quiet` forgets an interrupt that found
    none."""

    def __init__(self, interrupt: Callable[[], Any], quiet: Callable[[], Any]) -> None:
        self._interrupt = interrupt
        self._quiet = quiet
        self._calls: SimpleQueue[Optional[_Call]] = SimpleQueue()
        self._serves = threading.Lock()
        self._is_loud = False

    def brief(self, function: Callable[[], Any]) -> Any:
        """function(), which calls nothing of Python, and waits for Redis' answer only."""
        global _watch
        if self._is_loud:  # a signal came when the call before was over
            self._is_loud = False
            self._quiet()
        if _get_ident() != threading.main_thread().ident:
            return function()
        if _watch is None:
            _watch = _Watch()
        return _watch.call(self, function)

    def end_brief(self) -> None:
        self._is_loud = True
        self._interrupt()

    def call(self, function: Callable[[], Any], undo: Optional[Callable[[], Any]] = None) -> Any:
        """function(), here or there. If an exception comes while the main thread waits, the call is interrupted and
        waited for, what it did is undone by undo(), and the exception goes on."""
        if self._is_loud:
            self._is_loud = False
            self._quiet()
        if _get_ident() != threading.main_thread().ident:
            return function()
        if not self._serves.locked():
            start_new_thread(self._serve, ())
        call = _Call(function)
        try:
            self._calls.put(call)
            call.done.acquire()
        except BaseException:
            self._settle(call, undo)
            raise
        if call.why is not None:
            raise call.why
        return call.result

    def _settle(self, call: _Call, undo: Optional[Callable[[], Any]]) -> None:
        call.dropped = True
        self._interrupt()
        # Whether the call was put is not known. If it was, it is over when this one is.
        self._await(_Call(lambda: None))
        self._quiet()
        if undo is not None:
            self._await(_Call(undo))
            self._quiet()

    def _await(self, call: _Call) -> None:
        # Another signal changes nothing: the connection must not be used by two. So it may be put twice, and runs once.
        is_put = False
        while not call.ended:
            try:
                if not is_put:
                    self._calls.put(call)
                    is_put = True
                call.done.acquire(timeout=1)
            except BaseException:
                self._interrupt()

    def _serve(self) -> None:
        # Who calls may be interrupted before he knows that he has started it; the second one has nothing to do.
        if not self._serves.acquire(blocking=False):
            return
        try:
            while (call := self._calls.get()) is not None:
                call.run()
        finally:
            self._serves.release()

    def close(self) -> None:
        self._calls.put(None)
