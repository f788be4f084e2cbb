"""One flag, shared by a worker's main process and its pool: stop at the next boundary."""

from __future__ import annotations

from multiprocessing import Value

# Shared memory made before the pool forks; a plain flag would stay in the main process.
_stop = Value("b", 0)


def request_stop() -> None:
    """Ask every step of this worker to stop at its next boundary."""
    _stop.value = 1


def stop_requested() -> bool:
    """Whether the worker is stopping."""
    return bool(_stop.value)
