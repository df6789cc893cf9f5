# SPDX-License-Identifier: MIT
"""Finds libmuster, and turns its answers into Python's."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Iterable, Optional, Union

from . import _abi
from ._errors import ERRORS, Error, Invalid

SONAME = "libmuster.so.0"

Text = Union[str, bytes]
Data = Union[str, bytes, bytearray, memoryview]


class Library:
    """The functions, by their names without "muster_"."""

    def __init__(self, path: str) -> None:
        try:
            blocking, quick = ctypes.CDLL(path), ctypes.PyDLL(path)
        except OSError as why:
            raise ImportError(
                f"muster needs its library, and {path} cannot be loaded: {why}. Install Debian's package libmuster0, or"
                " `cmake --install` the sources and run ldconfig, or set MUSTER_LIBRARY to the file's path"
            ) from None
        self._path = path
        for dll, functions in ((blocking, _abi.BLOCKING), (quick, _abi.QUICK)):
            for name, (result, *arguments) in functions.items():
                self._bind(dll, name, result, arguments)

    def _bind(self, dll: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> None:
        try:
            function = getattr(dll, name)
        except AttributeError:
            raise ImportError(self._too_old(dll, name)) from None
        function.restype = result
        function.argtypes = arguments
        setattr(self, name[len("muster_") :], function)

    def _too_old(self, dll: ctypes.CDLL, name: str) -> str:
        try:
            version = dll.muster_version
        except AttributeError:
            return f"{self._path} is not muster's library"
        version.restype = ctypes.c_char_p
        return (
            f"{self._path} is muster {version().decode()}, which has no {name}(): this Python package needs a newer"
            " library. Install the one that it came with, or the package that came with that library"
        )

    def __getattr__(self, name: str) -> Any:  # for the type checker: all of them are set above
        raise AttributeError(name)


lib = Library(os.environ.get("MUSTER_LIBRARY") or SONAME)


def library_version() -> str:
    """The version of the library that was found."""
    return text(lib.version())


# ---- after a fork

_life = 0


def _on_fork() -> None:
    global _life
    _life += 1


os.register_at_fork(after_in_child=_on_fork)


def life() -> int:
    """Another number in each process that fork() made: what has another one belongs to the parent."""
    return _life


def check_life(made_in: int, what: str) -> None:
    if made_in != _life:
        raise RuntimeError(
            f"this {what} was made before fork(), and belongs to the parent: its connection and threads are there."
            f" Make a new one in the child"
        )


# ---- texts and bytes
#
# A name in muster is bytes without control characters. In Python it is a str, with what is not UTF-8 as surrogates, so
# that each name that comes out can be given back.


def text(value: Optional[bytes]) -> str:
    return value.decode("utf-8", "surrogateescape") if value else ""


def text_or_none(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "surrogateescape")


def name(value: Text) -> bytes:
    """A string for C. One with a NUL would be cut off there without a word."""
    made = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    if b"\0" in made:
        raise Invalid(f"a name or text must not hold a NUL: {value!r}")
    return made


def name_or_none(value: Optional[Text]) -> Optional[bytes]:
    return None if value is None else name(value)


def data(value: Data) -> bytes:
    if type(value) is bytes:
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a task, result or data is bytes or str, not {type(value).__name__}")


def names(values: Iterable[Text]) -> Any:
    """An array of strings; none if it is empty. It keeps the strings alive."""
    if isinstance(values, (str, bytes)):
        raise TypeError("a list of names is wanted, not one name")
    made = [name(value) for value in values]
    return (ctypes.c_char_p * len(made))(*made) if made else None


def c_bytes(value: bytes) -> _abi.Bytes:
    """Bytes for C; whoever calls keeps `value` until the call has returned. Data that is NULL means something else
    than no bytes, and those of Python never are."""
    return _abi.Bytes(ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p), len(value))


def bytes_at(pointer: Optional[int], length: int) -> bytes:
    return ctypes.string_at(pointer, length) if pointer else b""


def ms(seconds: float, what: str) -> int:
    """Spans of Python are seconds. One that is above 0 is never rounded down to 0, which often means something else."""
    if not -9e15 < seconds < 9e15:
        raise Invalid(f"{what}: {seconds} s is no span")
    made = round(seconds * 1000)
    return 1 if made == 0 and seconds > 0 else made


# ---- errors


def error(code: int, words: Optional[bytes]) -> Error:
    """The exception for an error of the library."""
    said = text(words) or text(lib.err_text(code))
    if code not in ERRORS:
        return Error(f"{text(lib.err_name(code))} ({code}): {said}")
    return ERRORS[code](said)


# ---- lists


def rows(read: Callable[[Any], Any], kind: Any, into: list[Any]) -> Any:
    """A callback that reads each row into a list. It must not raise: C has nobody to catch it. So what went wrong ends
    the listing, and stands at the end of the list for check_rows()."""

    def take(row: int, _arg: Any) -> int:
        try:
            into.append(read(kind.from_address(row)))
        except BaseException as why:
            into.append(_Broken(why))
            return 1
        return 0

    return _abi.ROW(take)


class _Broken:
    def __init__(self, why: BaseException) -> None:
        self.why = why


def check_rows(into: list[Any]) -> list[Any]:
    if into and isinstance(into[-1], _Broken):
        raise into[-1].why
    return into
