"""`make up` with nothing to do: the memory of all its processes, each shared page counted once."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .helpers import up

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="PSS is Linux's")

# MB; may only fall. Row 22 wants 350 of all.
ALL, SUPERVISOR, SLOT = 400, 16, 14


def memory(pid: int, kind: str) -> float:
    """MB of a process in /proc/PID/smaps_rollup: `Pss` or `Private_Dirty`."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (kilobytes,) = re.findall(rf"^{kind}: +(\d+) kB$", text, re.MULTILINE)
    return int(kilobytes) / 1024


def children(pid: int) -> list[int]:
    """The processes that a process started, and theirs."""
    results = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        results += [int(child), *children(int(child))]
    return results


def test_memory_at_rest(data: Path) -> None:
    """Slots share what the worker imported; the supervisor imported neither Django nor a driver."""
    with up(data, "--no-demo") as started:
        (worker,) = [
            pid
            for pid, command in started.leftovers()
            if "-m workers" in command and len(children(pid)) == 2
        ]
        slots = children(worker)
        processes = [started.process.pid, *children(started.process.pid)]
        assert {worker, *slots} < {*processes}
        # One of the slots has answered: since then its own pages stay as they are.
        dirty = [memory(pid, "Private_Dirty") for pid in slots]
        assert max(dirty) <= SLOT, dirty
        assert memory(started.process.pid, "Private_Dirty") <= SUPERVISOR
        shares = {pid: memory(pid, "Pss") for pid in processes}
        assert sum(shares.values()) <= ALL, shares
