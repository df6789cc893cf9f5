# SPDX-License-Identifier: MIT
"""The errors: a class for each error of muster, with the library's own words."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """What muster refuses, or could not do. Each error of the library has a class of its own below this one.

    `str(error)` has the library's words. `code` is the number in C, `name` its name there, as "E_LOST".
    """

    code = 0
    name = "E_UNKNOWN"

    # Of Client.put_many(): how many are put, the first ones; the ids of all of them, "" where one was not named yet; and
    # the place of the job that was refused, from 0. AsyncClient.put() tells the id alone.
    put: int = 0
    ids: list[str] = []
    refused: Optional[int] = None


class NoMemory(Error, MemoryError):
    """Out of memory. A call of several steps may have done some of them; any other has changed nothing."""

    code, name = -1, "E_NOMEM"


class Invalid(Error, ValueError):
    """A name, a number, an option or the URL is not allowed. Nothing was changed."""

    code, name = -2, "E_INVALID"


class TooBig(Error):
    """A task, or something else with a limit, is over it. Nothing was changed."""

    code, name = -3, "E_TOO_BIG"


class NoConnection(Error, ConnectionError):
    """No connection, or it broke before the answer came: what was asked for may or may not have been done."""

    code, name = -4, "E_CONN"


class Timeout(Error, TimeoutError):
    """No answer in time. What was asked for may or may not have been done."""

    code, name = -5, "E_TIMEOUT"


class Full(Error):
    """Redis has reached its maxmemory. Nothing was changed."""

    code, name = -6, "E_FULL"


class Busy(Error):
    """Redis is loading, is a replica, or cannot write; or more calls are in flight than may be. Nothing was changed."""

    code, name = -7, "E_BUSY"


class Denied(Error, PermissionError):
    """The password is wrong, or this user may not do this. Nothing was changed."""

    code, name = -8, "E_DENIED"


class Refused(Error):
    """Redis refused for another reason, such as a key of a wrong type; or it is older than 7.0, or no Redis."""

    code, name = -9, "E_REDIS"


class WrongFormat(Error):
    """The namespace is stored in another version of muster's format. Nothing was changed."""

    code, name = -10, "E_FORMAT"


class NotFound(Error, LookupError):
    """What was named does not exist."""

    code, name = -11, "E_NOT_FOUND"


class Exists(Error):
    """Something alive has this name already. Nothing was changed."""

    code, name = -12, "E_EXISTS"


class WrongState(Error):
    """The call does not fit the present state of its object. Nothing was changed."""

    code, name = -13, "E_STATE"


class Lost(Error):
    """The process does not belong to the caller any more. Nothing was changed."""

    code, name = -14, "E_LOST"


class Gone(Error):
    """The worker is not registered under this epoch. Nothing was changed."""

    code, name = -15, "E_GONE"


class NotStarted(Error):
    """The worker was not started. Nothing was changed."""

    code, name = -16, "E_NOT_STARTED"


class Cancelled(Error):
    """The process was cancelled, or its queue was deleted: it has ended, and its task is gone instead."""

    code, name = -17, "E_CANCELLED"


class Unconfirmed(Error):
    """It was done, but fewer replicas have confirmed it than was asked for, or no disk has."""

    code, name = -18, "E_UNCONFIRMED"


class Stopped(Error):
    """The caller has stopped a call of several steps: what the earlier ones did stays done."""

    code, name = -19, "E_STOPPED"


class Interrupted(Error):
    """Client.interrupt(), or the end of an AsyncClient, has ended the call: what was asked for may or may not have been
    done, but nothing stays taken."""

    code, name = -20, "E_INTERRUPTED"


class Exhausted(Error):
    """The process of a job was to be retried, and the job has had all its retries: it has failed for good instead."""

    code, name = -21, "E_EXHAUSTED"


ERRORS: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (
        NoMemory,
        Invalid,
        TooBig,
        NoConnection,
        Timeout,
        Full,
        Busy,
        Denied,
        Refused,
        WrongFormat,
        NotFound,
        Exists,
        WrongState,
        Lost,
        Gone,
        NotStarted,
        Cancelled,
        Unconfirmed,
        Stopped,
        Interrupted,
        Exhausted,
    )
}
