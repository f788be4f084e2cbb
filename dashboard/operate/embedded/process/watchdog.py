"""Ends what a killed supervisor leaves behind: blocks on its input and acts when that closes.

Works as a plain script without any installed package. Each line of the input is `+ PID SIGNAL LAST`
(a child that leads its own process group, the signal that ends it well, and the one that ends it at
once) or `- PID` (it is gone).
When the supervisor ends in good order it has taken everything off the list.
"""

import os
import signal
import sys
import time

PATIENCE_SECONDS, LAST_SECONDS = 0.5, 2.0


def _send(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _groups() -> set[int]:
    """The process groups with a member that is alive.

    Asking the kernel with signal 0 would count the dead whom nobody has collected yet.
    """
    results = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                state, _parent, group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if state != "Z":
            results.add(int(group))
    return results


def _exists(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remaining(children: dict[int, tuple[int, int]], seconds: float) -> dict[int, tuple[int, int]]:
    """Those whose groups still have somebody alive after these seconds."""
    deadline = time.monotonic() + seconds
    while children and time.monotonic() < deadline:
        time.sleep(0.02)
        groups = _groups() if os.path.isdir("/proc/self") else set(filter(_exists, children))
        children = {pid: signals for pid, signals in children.items() if pid in groups}
    return children


def main() -> None:
    """Keep the list of children that the parent reports; end them when its pipe closes."""
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, signal.SIG_IGN)
    children: dict[int, tuple[int, int]] = {}
    for line in sys.stdin:
        mark, pid, *rest = line.split()
        if mark == "+":
            children[int(pid)] = (int(rest[0]), int(rest[1]))
        else:
            children.pop(int(pid), None)
    for pid, (well, _) in children.items():
        _send(pid, well)
    children = _remaining(children, PATIENCE_SECONDS)
    for pid, (_, at_once) in children.items():
        _send(pid, at_once)
    for pid in _remaining(children, LAST_SECONDS):
        _send(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
