"""Starting one child process so that it never outlives its starter unseen."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from .folders import Account

_PR_SET_PDEATHSIG = 1
_LOG_LIMIT = 10 * 1024 * 1024


def _die_with_parent(death_signal: int) -> Callable[[], None] | None:
    """A function for the child between fork and exec; None where the system has no such call."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def arrange() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:  # the starter died before the call above
            os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def open_log(path: Path) -> IO[bytes]:
    """Open a log for appending; one older part is kept when it has grown large."""
    if path.exists() and path.stat().st_size > _LOG_LIMIT:
        path.replace(path.with_suffix(path.suffix + ".1"))
    return path.open("ab")


def start(
    argv: Sequence[str | Path],
    *,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    account: Account | None = None,
    cwd: Path | None = None,
    death_signal: int = signal.SIGKILL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, output to `log` (or nowhere).

    Its own session keeps Ctrl-C away from it: the supervisor decides who stops when. Call this
    from the main thread only, since Linux sends `death_signal` when the starting thread ends.
    """
    out = open_log(log) if log else None
    try:
        return subprocess.Popen(
            [os.fspath(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=out or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_die_with_parent(death_signal),
            pass_fds=tuple(pass_fds),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    finally:
        if out:
            out.close()


def alive(pid: int) -> bool:
    """True if a process with this id exists (a zombie counts as gone on Linux)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        fields = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return fields.rpartition(")")[2].split()[0] != "Z"


def signal_group(pid: int, number: int) -> None:
    """Send a signal to the whole process group of a child that leads its own session."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
