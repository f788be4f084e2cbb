"""Verifying whole threads: their logs and all that the floors hold beside them. One function for
page, admin and command."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from approvals.verification.approvals import Approvals
from checkpoints import chain, queries
from checkpoints.chain import (
    CHECKS,
    ChainReport,
    EventCheckFor,
    Files,
    unrecorded_users_in_slices,
    verify_thread,
    version_reports,
)

# Findings about the installation that are named one by one.
NAMED = 20


def verify(
    thread_id: UUID, *, files: bool = True, seen: Callable[[int], None] | None = None
) -> ChainReport:
    """Verify a thread with its approvals and, if wished, the bytes of its files; raises NotFound.

    `seen` is called with the number of events that are done.
    """
    report = verify_thread(thread_id, event_checks=_event_checks(files), seen=seen)
    return replace(report, checks=_checks(files))


def verify_in_slices(thread_id: UUID) -> Generator[int, None, ChainReport]:
    """Do the same without files a batch at a time, yielding how many events are done by then."""
    report = yield from chain.verify_in_slices(thread_id, event_checks=_event_checks(files=False))
    return replace(report, checks=_checks(files=False))


def _event_checks(files: bool) -> tuple[EventCheckFor, ...]:
    return (Approvals, Files) if files else (Approvals,)


def _checks(files: bool) -> tuple[str, ...]:
    return CHECKS[:2] if files else CHECKS[:1]


class Left(NamedTuple):
    """Rows of something that is gone: what it was, what to say of it, the workspace they name."""

    of: str
    report: ChainReport
    workspace: UUID | None


def workspace_report(workspace: UUID, unrecorded: Mapping[UUID, ChainReport]) -> ChainReport:
    """Verify a workspace's log and what it steers; `unrecorded` is what it has to report of
    beside."""
    return chain.returned(workspace_report_in_slices(workspace, unrecorded))


def workspace_report_in_slices(
    workspace: UUID, unrecorded: Mapping[UUID, ChainReport]
) -> Generator[int, None, ChainReport]:
    """Do the same a batch of events at a time, yielding how many events are done by then."""
    report = yield from chain.verify_workspace_in_slices(workspace)
    if workspace in unrecorded:
        what = f"{report.what} {unrecorded[workspace].what}".strip()
        return replace(report, intact=False, what=what)
    return report


def installation() -> list[tuple[str, ChainReport]]:
    """(what it is, report) of each agent version and user that is not as it was announced."""
    return chain.returned(installation_in_slices())


def installation_in_slices() -> Generator[int, None, list[tuple[str, ChainReport]]]:
    """Find the same a page of rows at a time, yielding how many are read by then."""
    versions = [("agent version", report) for report in version_reports()]
    users = yield from unrecorded_users_in_slices()
    return versions + [("workspace", report) for report in users]


def installation_damage_in_slices() -> Generator[int, None, dict[UUID, ChainReport]]:
    """Make one report of all of that, for the oldest workspace: it reports what belongs to none.

    A page of rows at a time is read; yields how many are read by then.
    """
    reports = yield from installation_in_slices()
    results = [report.what for _, report in reports]
    if not results:
        return {}
    oldest = queries.default_workspace()
    more = f" And {len(results) - NAMED} more." if len(results) > NAMED else ""
    return {oldest: ChainReport(oldest, False, 0, None, " ".join(results[:NAMED]) + more)}


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


def left_behind() -> Iterator[Left]:
    """Each thread, workspace and approval that has rows but none itself, once each."""
    return (left for page in left_behind_pages() for left in page)


def left_behind_pages() -> Iterator[list[Left]]:
    """The same by pages of what was looked through, so that it can be done a little at a time.

    Nothing of ours deletes one: its row was taken away past all guards.
    """
    payload: set[UUID] = set()
    for table, of, what_is_left in LEFT_BEHIND:
        for page in queries.ownerless_pages(table, of):
            lefts: list[Left] = []
            for ident, seq in page:
                if ident in payload:
                    continue
                payload.add(ident)
                what = f"The {of} itself is gone, and its {what_is_left} are still there."
                if seq is not None:
                    what = f"Event {seq}: {what[0].lower()}{what[1:]}"
                report = ChainReport(ident, False, 0, seq, what)
                lefts.append(Left(of, report, queries.workspace_of_rows(table, of, ident)))
            yield lefts
