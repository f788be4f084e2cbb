"""Drain a thread in processes that kill themselves, each at another statement of the drain."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from typing import Any, Final
from uuid import UUID

from django.db import connections

from checkpoints.hot import streams
from checkpoints.store import drains, step_batches

# What a drain calls for one batch, in this order; `copy_rows` for checkpoints and then for events.
POINTS: Final[tuple[tuple[Any, str], ...]] = (
    (drains, "lock_head"),
    (step_batches, "copy_rows"),
    (step_batches, "perform"),
    (streams, "trim"),
)
# (a point, which call of it, whether the process dies after the call or before it).
STRIKES: Final = tuple(
    (point, nth, after)
    for point in POINTS
    for nth in ((1, 2) if point[1] == "copy_rows" else (1,))
    for after in (False, True)
)
BATCH: Final = 60


def strike(module: Any, name: str, nth: int, *, after: bool) -> None:
    """Let this process kill itself right before or after a call of a function."""
    call, calls = getattr(module, name), itertools.count(1)

    def struck(*args: Any, **kwargs: Any) -> Any:
        due = next(calls) == nth
        if due and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*args, **kwargs)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(module, name, struck)


def main(thread: UUID) -> None:
    """Print one line for each process that was killed, with what it left."""
    from checkpoints.chain import verify_thread
    from checkpoints.postgres.named_rows import fetch_named

    for (module, name), nth, after in STRIKES:
        connections.close_all()  # a connection has one owner
        pid = os.fork()
        if not pid:
            drains.BATCH = BATCH  # type: ignore[misc]
            strike(module, name, nth, after=after)
            drains.drain(thread)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        [row] = fetch_named("SELECT number FROM gp_thread WHERE id = %s::uuid", (thread,))
        outcome = {
            "point": name,
            "after": after,
            "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
            "number": row.number,
            "intact": verify_thread(thread).intact,
        }
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    import django

    django.setup()
    main(UUID(sys.argv[1]))
