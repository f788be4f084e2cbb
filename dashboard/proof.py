"""Verifying whole threads: their logs and all that the floors hold beside them. One function for
page, admin and command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

from approvals.proof import Approvals
from checkpoints import queries
from checkpoints.chain import (
    ChainReport,
    Files,
    WitnessFor,
    unrecorded_users,
    verify_thread,
    version_reports,
)


def verify(
    thread_id: UUID, *, files: bool = True, seen: Callable[[int], None] | None = None
) -> ChainReport:
    """Verify a thread with its approvals and, if wished, the bytes of its files; raises NotFound.

    `seen` is told how many events are done.
    """
    witnesses: tuple[WitnessFor, ...] = (Approvals, Files) if files else (Approvals,)
    return verify_thread(thread_id, witnesses=witnesses, seen=seen)


def installation() -> Iterator[tuple[str, ChainReport]]:
    """(what it is, report) of each agent version and user that is not as it was announced."""
    yield from (("agent version", report) for report in version_reports())
    yield from (("workspace", report) for report in unrecorded_users())


# What names a thread, a workspace or a request, and begins an index with its id.
LEFT_BEHIND = (
    ("gp_event", "thread", "events"),
    ("gp_checkpoint", "thread", "checkpoints"),
    ("gp_content", "thread", "contents"),
    ("gp_activity", "thread", "activities"),
    ("gp_approval", "thread", "approvals"),
    ("gp_workspace_event", "workspace", "events"),
    ("gp_decision", "approval", "decisions"),
)


def left_behind() -> Iterator[tuple[str, ChainReport]]:
    """(what it is, report) of each thread, workspace and approval that has rows but none itself.

    Nothing of ours deletes one: its row was taken away past all guards. Each is told once.
    """
    told: set[UUID] = set()
    for table, of, what_is_left in LEFT_BEHIND:
        for ident, seq in queries.ownerless(table, of):
            if ident in told:
                continue
            told.add(ident)
            what = f"The {of} itself is gone, and its {what_is_left} are still there."
            if seq is not None:
                what = f"Event {seq}: {what[0].lower()}{what[1:]}"
            yield of, ChainReport(ident, False, 0, seq, what)
