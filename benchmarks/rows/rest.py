"""Row 22: `make up` with nothing to do: memory of all its processes, and processor time."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

from ..report import Measured
from ..servers import scratch_folder
from .up import Up, living

CALM_SECONDS, SECONDS = 15.0, 120.0


def memory_mb(pid: int) -> float:
    """The proportional set size: a page that several processes share is split among them."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (kilobytes,) = re.findall(r"^Pss: +(\d+) kB$", text, re.MULTILINE)
    return int(kilobytes) / 1024


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all that it started, and those. PostgreSQL's hide their environment."""
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in started for one in family(int(child)))]


def measure(scale: float) -> Measured:
    """An installation without the demo, after its start has calmed down."""
    if not sys.platform.startswith("linux"):
        raise RuntimeError("memory is read in /proc, which is not here")
    with scratch_folder() as home:
        up = Up(home / "data", home / "up.txt", "ARGS=--no-demo")
        try:
            up.wait_ready()
            time.sleep(CALM_SECONDS)
            processes = {one for pid in living(up.data) for one in family(pid)}
            before = {pid: processor_seconds(pid) for pid in processes}
            began = time.monotonic()
            time.sleep(SECONDS * min(scale, 1))
            used = {pid: processor_seconds(pid) - before[pid] for pid in processes}
            seconds = time.monotonic() - began
            memory = {pid: memory_mb(pid) for pid in processes}
            up.press_ctrl_c()
        finally:
            up.end()
    return Measured(
        {
            "memory_mb": sum(memory.values()),
            "processor_percent": 100 * sum(used.values()) / seconds,
        },
        details={
            "processes": len(processes),
            "largest_mb": [round(size, 1) for size in sorted(memory.values(), reverse=True)[:6]],
        },
    )
