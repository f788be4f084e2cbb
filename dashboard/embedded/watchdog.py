"""Ends what a killed supervisor leaves behind: blocks on its input and acts when that closes.

Works as a plain script without any installed package. Each line of the input is `+ PID SIGNAL` (a
child that leads its own process group, and the signal that ends it well) or `- PID` (it is gone).
When the supervisor ends in good order it has taken everything off the list.
"""

import os
import signal
import sys
import time

PATIENCE_SECONDS = 0.6


def _send(pid: int, number: int) -> bool:
    """Whether there was still somebody in the group to send it to."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main() -> None:
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, signal.SIG_IGN)
    children: dict[int, int] = {}
    for line in sys.stdin:
        mark, pid, *rest = line.split()
        if mark == "+":
            children[int(pid)] = int(rest[0])
        else:
            children.pop(int(pid), None)
    for pid, number in children.items():
        _send(pid, number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while children and time.monotonic() < deadline:
        time.sleep(0.02)
        children = {pid: number for pid, number in children.items() if _send(pid, 0)}
    for pid in children:
        _send(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
