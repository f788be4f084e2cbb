"""Refuses in node code what may happen only once: network, processes, writes, threads, queries.

A node works again from its start after a stop inside it, so whatever it does beside its activities
and effects would happen again, and nobody would know. The refusal names the author's line and what
to do instead. It finds mistakes; it is no sandbox: a socket or a cursor of a library that tells
the interpreter nothing is not seen, nor what ctypes does.

`guarded` surrounds code of the author, `unguarded` what the engine does for it in between; both
are distinguished by a context variable, so other threads and the engine's own work are left alone.
"""

from __future__ import annotations

import gc
import inspect
import io
import logging
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, cast

from ..authoring.errors import OutsideActivity, Refused
from .event_loops import beside_a_loop
from .side_effects import EVENTS, watch_functions

if TYPE_CHECKING:
    from .ledger import Ledger

_ROOT: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
ENGINE: Final = tuple(os.path.join(_ROOT, name) + os.sep for name in ("workers", "gatepost"))
_LIBRARY: Final = sysconfig.get_paths()["stdlib"] + os.sep
_PACKAGES: Final = f"{os.sep}site-packages{os.sep}"
_LOGGING: Final = os.path.dirname(logging.__file__) + os.sep
FIX: Final = "put it into a function and call it with ctx.activity(...)"

_FETCHED_BYTES: Final = 256 * 1024

_now: ContextVar[guarded | None] = ContextVar("gatepost_guard", default=None)
_off: ContextVar[bool] = ContextVar("gatepost_guard_off", default=False)
_installed = False


class _Collecting(threading.local):
    """A flag per thread, True while it collects garbage: the finalisers may be anybody's."""

    here = False


_collecting = _Collecting()


def begin(*, on: bool = True) -> None:
    """Say for the work that follows in this thread whether node code is guarded."""
    _off.set(not on)
    if on:
        install()


def install() -> None:
    """Watch this process; once, since an audit hook cannot be taken away."""
    global _installed
    if not _installed:
        _installed = True
        gc.callbacks.append(_collects)
        sys.addaudithook(_hook)
    watch_functions(_check)


def _collects(phase: str, _info: dict[str, int]) -> None:
    _collecting.here = phase == "start"


def _hook(
    event: str,
    args: tuple[Any, ...],
    _describe: Callable[[str], Any] = EVENTS.get,
    _watch: Callable[[], Any] = _now.get,
) -> None:
    """Called for every audit event of the process; names are bound, since it outlives modules."""
    message = _describe(event)
    if message is not None and (watch := _watch()) is not None and (what := message(args)):
        _judge(watch, what)


def _check(what: str) -> None:
    """Check, for a watched function, that node code may do this now."""
    if (watch := _now.get()) is not None:
        _judge(watch, what)


class guarded:
    """`with guarded(code):` around a call of the author's code; what it refuses names `code`.

    Raises OutsideActivity at the end when something was refused, whatever became of the refusal
    inside: author code may have swallowed it.
    """

    __slots__ = ("_code", "_token", "frame", "refused")

    def __init__(self, code: object) -> None:
        self._code = code
        self.refused: Refused | None = None

    def __enter__(self) -> None:
        self.frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - documented
        self._token: Token[guarded | None] | None = None if _off.get() else _now.set(self)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.frame = None
        if self._token is not None:
            _now.reset(self._token)
            if self.refused is not None:
                raise OutsideActivity(str(self.refused)) from self.refused

    def home(self) -> str:
        """The folder of the author's file, empty where it has none."""
        try:
            code: Any = self._code
            file = inspect.getsourcefile(inspect.unwrap(code)) or ""
        except TypeError:  # an object that is called has no file of its own
            return ""
        return str(Path(file).parent) + os.sep if file else ""

    def refuse(self, what: str, file: str, line: int) -> None:
        """Raise Refused with what happened where, and keep it."""
        path = f"{Path(file).name}, line {line}, " if file else "The node "
        refused = Refused(
            f"{path}{what} outside of an activity. A node begins again after each stop, so this "
            f"would happen again: {FIX}."
        )
        self.refused = self.refused or refused
        raise refused


class unguarded:
    """`with unguarded():` around what the engine does for a node, and what happens once.

    Raises the former refusal again where a node has swallowed one: it shall do nothing more.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        watch = _now.get()
        if watch is not None and watch.refused is not None:
            raise watch.refused
        self._token = _now.set(None)

    def __exit__(self, *_exc: object) -> None:
        _now.reset(self._token)


def watched[T](items: Iterable[T]) -> Iterable[T]:
    """The same items, made by the author's code under its guard, wherever they are consumed."""
    watch = _now.get()
    return items if watch is None else _watched(iter(items), watch)


def _watched[T](items: Iterator[T], watch: guarded) -> Iterator[T]:
    while True:
        token = _now.set(watch)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            _now.reset(token)
        yield item


class _Fetched(io.RawIOBase):
    """A file whose bytes the engine fetches, wherever the author's code reads them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with unguarded():
            return self._file.seek(offset, whence)

    def readinto(self, into: Any) -> int:
        with unguarded():
            raw = self._file.read(len(into))
        into[: len(raw)] = raw
        return len(raw)

    def close(self) -> None:
        self._file.close()
        super().close()


def unguarded_file(file: IO[bytes]) -> io.BufferedReader:
    """The same file for code of a node: its storage may be a server, asked while it is read."""
    return io.BufferedReader(_Fetched(file), _FETCHED_BYTES)


class _Freed:
    """A ledger in the hands of a node: its calls are the engine's own."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._ledger, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if _now.get() is None:  # no code of the author's asks
                return beside_a_loop(result, *args, **kwargs)
            with unguarded():
                return beside_a_loop(result, *args, **kwargs)

        self.__dict__[name] = call
        return call


def freed(ledger: Ledger) -> Ledger:
    """The same ledger, for calls out of node code."""
    return cast("Ledger", _Freed(ledger))


def _judge(watch: guarded, what: str) -> None:
    """Refuse, unless it is done in the author's name by what nobody can do otherwise.

    Imports write bytecode and begin what a module needs, a log begins its file, finalisers take
    back what others made, and the first temporary file looks for its folder.
    """
    if _collecting.here:
        return
    home = watch.home()
    own: FrameType | None = None
    other: FrameType | None = None
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - documented
    while frame is not None and frame is not watch.frame:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith(("<frozen importlib", _LOGGING)) or name == "__del__":
            return
        if (frame.f_globals.get("__name__"), name) in _PASSING:
            return
        if own is None and _within(file, home):
            own = frame
        if other is None and _foreign(file):
            other = frame
        frame = frame.f_back
    at = own or other
    watch.refuse(what, at.f_code.co_filename if at else "", at.f_lineno if at else 0)


_PASSING: Final = frozenset({("weakref", "__call__"), ("tempfile", "_get_default_tempdir")})


def _within(file: str, home: str) -> bool:
    """Answer True for an author's own file: in the node's folder or below, and no package there."""
    if not home or not file.startswith(home) or file.startswith(ENGINE):
        return False
    return _PACKAGES not in file[len(home) - 1 :] and not file.startswith(_LIBRARY)


def _foreign(file: str) -> bool:
    """Answer True for a file that is neither the engine's, nor Python's, nor a package's."""
    return not file.startswith((*ENGINE, _LIBRARY, "<")) and _PACKAGES not in file
