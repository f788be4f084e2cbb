"""One flag, shared by a worker's main process and its pool: stop at the next boundary."""

from __future__ import annotations

from multiprocessing.sharedctypes import RawValue

# Shared memory made before the pool forks; a plain flag would stay in the main process. Without a
# lock: a process killed while it holds one would stop all others, and one byte needs none.
_stop = RawValue("b", 0)


def request_stop() -> None:
    """Ask every step of this worker to stop at its next boundary."""
    _stop.value = 1


def stop_requested() -> bool:
    """Answer True if the worker is stopping."""
    return bool(_stop.value)
