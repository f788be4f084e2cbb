"""Messages between the processes of this worker, past every queue, in one shared page.

A lease is fresh; something is not to be called; a slot at work still turns.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path

from checkpoints.limits import lease_seconds

# Made before the pool forks, so that all its processes see the one page. The monotonic clock is
# the machine's: what a slot writes the main process can compare.
_page = mmap.mmap(-1, 8192)
_FRESH, _HELD_OFF, _ANSWERED, _SLOTS = 0, 8, 16, 64
_SLOT = struct.Struct("qq")  # pid while it holds a lease, and its count of heartbeats
SLOTS_MAX = 500
_index = -1
_beats = 0


def lease_is_fresh() -> None:
    """A slot of this worker has just got or renewed a lease."""
    struct.pack_into("d", _page, _FRESH, time.monotonic())


def busy() -> bool:
    """Answer True if a slot's lease is fresh enough that the slot must be at work."""
    at = last_lease()
    return bool(at) and time.monotonic() - at < lease_seconds() / 2


def last_lease() -> float:
    """The time when a slot last got or renewed a lease, on the monotonic clock; 0 before."""
    (at,) = struct.unpack_from("d", _page, _FRESH)
    return float(at)


def answered() -> None:
    """A slot of this worker has just answered a canary."""
    struct.pack_into("d", _page, _ANSWERED, time.monotonic())


def last_answer() -> float:
    """The time when a slot last answered a canary, on the monotonic clock; 0 before the first."""
    (at,) = struct.unpack_from("d", _page, _ANSWERED)
    return float(at)


def at_work() -> int:
    """Count the slots that are processes and hold a lease."""
    held = 0
    for index in range(SLOTS_MAX):
        pid, _ = _SLOT.unpack_from(_page, _SLOTS + index * _SLOT.size)
        held += bool(pid)
    return held


# ---- services that are not to be called ----


def holding_off(seconds: float) -> None:
    """For so long the database is asked before a call; else no call pays for the question."""
    until = time.monotonic() + seconds
    (former,) = struct.unpack_from("d", _page, _HELD_OFF)
    # Two slots at the same time may lose the longer time; the next sweep writes it again.
    if until > former:
        struct.pack_into("d", _page, _HELD_OFF, until)


def any_held_off() -> bool:
    """Answer True if a service may be in backoff."""
    (until,) = struct.unpack_from("d", _page, _HELD_OFF)
    return bool(time.monotonic() < until)


# ---- slots that turn no more ----


def enter(index: int) -> None:
    """Register this process as the slot of `index`."""
    global _index
    _index = index if 0 <= index < SLOTS_MAX else -1
    rest()


def own_process() -> bool:
    """Answer True if this process is a slot of its own, so that it can end without others."""
    return _index >= 0


def turn() -> None:
    """Count one heartbeat of this slot; shows that the interpreter lock is still released."""
    global _beats
    if _index >= 0:
        _beats += 1  # over all leases: many short ones are no standstill
        _SLOT.pack_into(_page, _SLOTS + _index * _SLOT.size, os.getpid(), _beats)


def rest() -> None:
    """Record that this slot has no lease."""
    if _index >= 0:
        _SLOT.pack_into(_page, _SLOTS + _index * _SLOT.size, 0, 0)


class Stuck:
    """Looks which slots at work have not turned for many looks; for the main process."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._seen: dict[int, tuple[int, int]] = {}  # pid -> (beats, looks without another)

    def look(self) -> list[int]:
        """Their processes; stopped ones (SIGSTOP) are none of them."""
        seen: dict[int, tuple[int, int]] = {}
        for index in range(SLOTS_MAX):
            pid, beats = _SLOT.unpack_from(_page, _SLOTS + index * _SLOT.size)
            if not pid:
                continue
            former, looks = self._seen.get(pid, (-1, 0))
            seen[pid] = (beats, looks + 1 if beats == former and not _stopped(pid) else 0)
        self._seen = seen
        return [pid for pid, (_, looks) in seen.items() if looks >= self._looks]


def _stopped(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")
