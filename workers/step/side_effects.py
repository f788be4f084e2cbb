"""What leads out of a process: Python's audit events, and functions of libraries that raise none.

Each entry says in words what would be done, or nothing where it is harmless: reading a file is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

type Describe = Callable[[tuple[Any, ...]], str]

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Writing there leaves nothing behind.
_HARMLESS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
SHOWN: Final = 80


def _short(value: Any) -> str:
    """A name as it stands in a sentence: one line, not long; " (name)" or nothing."""
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    text = " ".join(str(value).split()) if isinstance(value, str | os.PathLike) else ""
    return f" ({text if len(text) <= SHOWN else f'…{text[1 - SHOWN :]}'})" if text else ""


def _network(args: tuple[Any, ...]) -> str:
    """(socket, address), (host, port, ...) or (host)."""
    where = next((a for a in args if isinstance(a, str | bytes | tuple)), "")
    return f"speaks to the network{_short(where[0] if isinstance(where, tuple) else where)}"


def _starts(args: tuple[Any, ...]) -> str:
    """(program, ...), or its command line; arguments may hold secrets, so they are left out."""
    value = args[0] if args else ""
    if isinstance(value, str | bytes):
        words = os.fsdecode(value).split()
        value = os.path.basename(words[0]) if words else ""
    return f"starts a process{_short(value)}"


def _opens(args: tuple[Any, ...]) -> str:
    """(path, mode, flags); a descriptor was opened before."""
    path, mode, flags = args[:3]
    if isinstance(path, int) or not isinstance(path, str | bytes | os.PathLike):
        return ""
    writes = bool(flags & _WRITING) if isinstance(flags, int) else False
    if isinstance(mode, str):
        writes = writes or not set("wax+").isdisjoint(mode)
    return f"writes a file{_short(path)}" if writes and str(path) not in _HARMLESS else ""


def _changes(args: tuple[Any, ...]) -> str:
    return "" if args and isinstance(args[0], int) else f"changes files{_short(args[0])}"


def _deletes(args: tuple[Any, ...]) -> str:
    return f"deletes files{_short(args[0])}"


def _thread(_args: tuple[Any, ...]) -> str:
    return "starts a thread"


def _database(_args: tuple[Any, ...]) -> str:
    return "opens a database"


EVENTS: Final[Mapping[str, Describe]] = {
    **dict.fromkeys(
        (
            "socket.connect",
            "socket.bind",
            "socket.sendto",
            "socket.sendmsg",
            "socket.getaddrinfo",
            "socket.gethostbyname",
            "socket.gethostbyaddr",
            "socket.getnameinfo",
            # Over a connection that is open already nothing else is known.
            "http.client.send",
        ),
        _network,
    ),
    **dict.fromkeys(
        (
            "subprocess.Popen",
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "os.spawn",
            "pty.spawn",
        ),
        _starts,
    ),
    **dict.fromkeys(("os.fork", "os.forkpty"), lambda _args: "starts a process"),
    "open": _opens,
    **dict.fromkeys(
        (
            "os.rename",
            "os.mkdir",
            "os.link",
            "os.symlink",
            "os.truncate",
            "os.chmod",
            "os.chown",
            "os.utime",
            "os.setxattr",
            "os.removexattr",
        ),
        _changes,
    ),
    **dict.fromkeys(("os.remove", "os.rmdir", "shutil.rmtree"), _deletes),
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), _thread),
    "sqlite3.connect": _database,
}

_QUERY, _CLIENT = "asks a database", "speaks to the network"
# (module, class, its function, what it does): what works over open connections, in running threads
# or outside of Python, and the interpreter is not informed. Only looked at where it is imported.
_FUNCTIONS: Final = (
    *(("psycopg", f"{a}Connection", "connect", "opens a database") for a in ("", "Async")),
    *(
        ("psycopg", f"{kind}Cursor", name, _QUERY)
        for kind in ("", "Async", "Server", "AsyncServer")
        for name in ("execute", "executemany", "stream", "copy")
    ),
    ("httpx", "Client", "send", _CLIENT),
    ("httpx", "AsyncClient", "send", _CLIENT),
    ("httpx2", "Client", "send", _CLIENT),
    ("httpx2", "AsyncClient", "send", _CLIENT),
    ("redis.connection", "AbstractConnection", "send_packed_command", _CLIENT),
    ("multiprocessing.process", "BaseProcess", "start", "starts a process"),
    ("concurrent.futures.thread", "ThreadPoolExecutor", "submit", "works in another thread"),
)
_watched: set[tuple[str, str, str]] = set()


def watch_functions(check: Callable[[str], None]) -> None:
    """Let each of these functions ask `check` first, in the libraries imported so far."""
    for module, owner, name, what in _FUNCTIONS:
        if module in sys.modules and (module, owner, name) not in _watched:
            _watched.add((module, owner, name))
            kind = getattr(sys.modules[module], owner, None)
            if kind is not None and name in vars(kind):
                _watch(kind, name, what, check)


def _watch(kind: Any, name: str, what: str, check: Callable[[str], None]) -> None:
    plain = vars(kind)[name]
    of_class = isinstance(plain, classmethod)
    call = plain.__func__ if of_class else plain

    @wraps(call)
    def asking(*args: Any, **kwargs: Any) -> Any:
        check(what)
        return call(*args, **kwargs)

    former = getattr(kind, name)
    setattr(kind, name, classmethod(asking) if of_class else asking)
    # `psycopg.connect` is the class's own, taken when the module was made.
    module = sys.modules[kind.__module__.partition(".")[0]]
    if getattr(module, name, None) == former:
        setattr(module, name, getattr(kind, name))
