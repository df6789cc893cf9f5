# SPDX-License-Identifier: MIT
"""What a handler may raise, what it may be told, and what becomes of its exceptions."""

from __future__ import annotations

import enum
import traceback
from dataclasses import dataclass
from typing import Optional

from . import _abi
from ._errors import Error
from ._library import Text, name

_MESSAGE_MAX = 16 * 1024


class Outcome(Exception):
    """An end of a process that a handler raises: Retry, Fail or GiveBack."""


class Retry(Outcome):
    """Raise it in a handler, or in a block of a Lease: not done, to the end of the queue after `delay` seconds.

    None: a task after a second (of a lease: at once), a job after its own backoff. A job that has had all its retries
    fails instead. Its record keeps group and message; a task has no record."""

    def __init__(
        self, delay: Optional[float] = None, *, group: Optional[Text] = None, message: Optional[Text] = None
    ) -> None:
        super().__init__("to be retried")
        self.delay, self.group, self.message = delay, group, message


class Fail(Outcome):
    """Raise it in a handler, or in a block of a Lease: onto the failed list, at once, also a job with retries left."""

    def __init__(self, message: Optional[Text] = None, *, group: Optional[Text] = None) -> None:
        super().__init__("failed" if message is None else message)
        self.message, self.group = message, group


class GiveBack(Outcome):
    """Raise it in a handler, or in a block of a Lease: not done, back to the front of the queue, for anybody."""

    def __init__(self) -> None:
        super().__init__("given back")


class StopReason(enum.IntEnum):
    """Whether a handler is to stop, and why (enum muster_stop_reason in worker.h)."""

    GO_ON = 0
    CANCELLED = 1  # the task was cancelled
    LOST = 2  # it is in other hands, or may be
    LIMIT = 3  # it ran longer than its limit
    DRAIN = 4  # the worker stops, and its drain time is over; or it leaves the queue
    MOVE = 5  # another worker is to go on with it


@dataclass(frozen=True)
class Event:
    """What a worker tells. `type` is a name of enum muster_event_type in worker.h, in small letters: "started", "doubt",
    "lost", "down", "up", "stop", "uncounted", ..., "stopped". What does not belong to it is None, or "" as a text."""

    type: str
    text: str = ""
    error: Optional[Error] = None
    process: Optional[str] = None
    queue: Optional[str] = None
    task: Optional[bytes] = None


def group_of(why: BaseException) -> str:
    """The group of a failure by an exception: its class, as "ValueError"."""
    return type(why).__name__[:200]


def message_of(why: BaseException) -> bytes:
    """Its message: the exception in a line, then where it came from. It has no NUL, and at most 16 KiB."""
    lines = "".join(traceback.format_exception_only(type(why), why)).strip() + "\n"
    lines += "".join(traceback.format_exception(why))
    made = lines.replace("\0", "\\0").encode("utf-8", "backslashreplace")
    return made[:_MESSAGE_MAX]


def failure_names(group: Optional[Text], message: Optional[Text]) -> tuple[Optional[bytes], Optional[bytes]]:
    return (None if group is None else name(group)), (None if message is None else name(message))


EVENT_NAMES = _abi.EVENTS
WARNINGS = frozenset(
    ("doubt", "lost", "down", "uncounted", "refused", "alone", "not_resumed", "dropped", "risk", "left_out")
)
NEWS = frozenset(("started", "up", "swept", "left", "stopped"))
