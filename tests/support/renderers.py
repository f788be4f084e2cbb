"""Pages that do not answer are ended: some calls of the browser’s protocol wait forever.

A tap that meets a page in change may never be acknowledged, and Playwright sets no limit to it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_S = 300


@contextmanager
def limited(seconds: float = LIMIT_S) -> Iterator[None]:
    """End the pages of this process's browsers after so long; calls to them fail from then on."""
    timer = threading.Timer(seconds, end_pages, [os.getpid()])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_pages(ancestor: int) -> None:
    """Kill the processes that render pages below a process; the browsers themselves live on."""
    columns = ["ps", "-A", "-o", "pid=,ppid=,args="]
    listed = subprocess.run(columns, capture_output=True, text=True, check=True).stdout
    children: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for line in listed.splitlines():
        pid, parent, command = line.split(maxsplit=2)
        children[int(parent)].append((int(pid), command))
    below = [(ancestor, "")]
    for pid, command in below:
        below += children[pid]
        if "--type=renderer" in command:
            os.kill(pid, signal.SIGKILL)
