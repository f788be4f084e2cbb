"""Verifying whole threads: their logs and all that the floors hold beside them. One function for
page, admin and command."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from approvals.proof import Approvals
from checkpoints.chain import ChainReport, Files, WitnessFor, verify_thread


def verify(
    thread_id: UUID, *, files: bool = True, seen: Callable[[int], None] | None = None
) -> ChainReport:
    """Verify a thread with its approvals and, if wished, the bytes of its files; raises NotFound.

    `seen` is told how many events are done.
    """
    witnesses: tuple[WitnessFor, ...] = (Approvals, Files) if files else (Approvals,)
    return verify_thread(thread_id, witnesses=witnesses, seen=seen)
