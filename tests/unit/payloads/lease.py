"""One lease in a process of its own: `python -m tests.unit.payloads.lease THREAD POINT AGENT`.

At POINT the process kills itself with SIGKILL: nothing of Python or Django runs any more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID


def die(*_: Any, **__: Any) -> None:
    """kill -9 of this very process."""
    os.kill(os.getpid(), signal.SIGKILL)


def around(
    owner: Any, name: str, *, when: Callable[..., bool], before: bool = False, at: int = 1
) -> None:
    """Die before or after the call number `at` of a function among those that `when` picks."""
    real, left = getattr(owner, name), [at]

    def call(*args: Any, **kwargs: Any) -> Any:
        picked = when(*args)
        left[0] -= picked
        if picked and left[0] == 0 and before:
            die()
        answer = real(*args, **kwargs)
        if picked and left[0] == 0:
            die()
        return answer

    setattr(owner, name, call)


def arm(point: str) -> None:
    """Set the trap; each of the first ones is met in the second step."""
    from checkpoints.payloads import disk
    from checkpoints.store import steps
    from dashboard.threads.capsules import folders
    from workers.step.ledger import DatabaseLedger

    def to(part: str) -> Callable[..., bool]:
        return lambda _source, target: part in str(target)

    def named(part: str) -> Callable[..., bool]:
        return lambda target, *_: part in str(target)

    def always(*_: Any) -> bool:
        return True

    traps: dict[str, Callable[[], None]] = {
        "the file of an artifact is written, not named": lambda: around(
            disk.os, "replace", when=to("/artifacts/artifacts/"), before=True, at=2
        ),
        "the file of an artifact lies there, no row": lambda: around(
            disk.os, "replace", when=to("/artifacts/artifacts/"), at=2
        ),
        "the artifact has its row, no checkpoint": lambda: around(
            DatabaseLedger, "artifact", when=always, at=2
        ),
        "the content is written, not named": lambda: around(
            disk.os, "replace", when=to("/contents/"), before=True, at=2
        ),
        "the content lies there, no checkpoint": lambda: around(
            disk.os, "replace", when=to("/contents/"), at=2
        ),
        "the statement is about to be sent": lambda: around(
            steps, "perform", when=lambda move: bool(move.head), before=True, at=2
        ),
        "the checkpoint is committed": lambda: around(
            steps, "perform", when=lambda move: bool(move.head), at=2
        ),
        "the folder is half written": lambda: around(folders, "_write", when=named("state.yaml")),
        "the folder is whole, not named": lambda: around(
            Path, "rename", when=named(".new-"), before=True
        ),
        "the folder is named, the former one there": lambda: around(
            Path, "rename", when=named(".new-")
        ),
    }
    traps[point]()


def work_on(thread: UUID) -> bool:
    """Take the lease, or take it over, and work until the thread stops; False: not to be had yet.

    Nobody takes over in the first seconds of a database server.
    """
    from checkpoints import leases
    from workers.slot import loop

    work = leases.acquire(thread, owner="worker:1") or leases.take_over(thread, owner="worker:2")
    if work is not None:
        loop.work_on(work)
    return work is not None


def main() -> None:
    """Set the trap and go."""
    import django

    django.setup()
    from workers.code import registry
    from workers.slot import loop

    loop.agents = lambda: registry.load([sys.argv[3]])  # type: ignore[assignment]
    arm(sys.argv[2])
    assert work_on(UUID(sys.argv[1]))


if __name__ == "__main__":
    main()
