"""What the slots of this worker tell its main process, past every queue: a lease is fresh."""

from __future__ import annotations

import mmap
import struct
import time

from checkpoints.limits import lease_seconds

# Made before the pool forks, so that all its processes see the one page. The monotonic clock is
# the machine's: what a slot writes the main process can compare.
_page = mmap.mmap(-1, 8)


def lease_is_fresh() -> None:
    """A slot of this worker has just got or renewed a lease."""
    _page[:8] = struct.pack("d", time.monotonic())


def busy() -> bool:
    """Whether a slot's lease is fresh enough that the slot must be at work."""
    (at,) = struct.unpack("d", _page[:8])
    return bool(at) and time.monotonic() - at < lease_seconds() / 2
