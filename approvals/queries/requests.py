"""Requests for approval: one, several, a thread's, a step's; and the verdicts on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from checkpoints.errors import InvalidValue, NotFound
from checkpoints.postgres import reads
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.plans import planned_for_this
from checkpoints.postgres.sql_files import sql_file
from checkpoints.tables.readers import record_of
from checkpoints.views import Page

from ..rules.votes import Vote
from ..states import UNSETTLED
from . import rows
from .rows import ApprovalRow, decoded

SQL = sql_file(__file__, request=rows.SQL.request)


@dataclass(frozen=True, slots=True)
class WordsRow:
    """The words of a person in a verdict: a comment, arguments beside those asked for."""

    id: UUID
    approval: UUID
    kind: str
    reviewer: str
    reviewer_name: str
    verdict: str
    comment: str
    imported: bool
    args: Any
    asked_args: Any


def approval(approval_id: UUID, *, workspace: UUID) -> ApprovalRow:
    """One request; raises NotFound for unknown ids and those of other workspaces alike."""
    requests = by_id([approval_id], workspace=workspace)
    if not requests:
        raise NotFound("There is no such request in this workspace.")
    return requests[approval_id]


def by_id(ids: Sequence[UUID], *, workspace: UUID) -> dict[UUID, ApprovalRow]:
    """Those of these requests that are of the workspace."""
    requests = rows.read(fetch_named(SQL.by_id, {"ids": list(ids), "workspace": workspace}))
    return {row.id: row for row in requests}


def in_workspace(approval_id: UUID, *, workspace: UUID) -> bool:
    """Answer True if a request belongs to the workspace."""
    return bool(fetch_named(SQL.in_workspace, (approval_id, workspace)))


def votes(approval_id: UUID) -> list[Vote]:
    """All verdicts on a request, oldest first, each saying whether it counts now."""
    verdicts = fetch_named(SQL.votes, {"request": approval_id})
    votes = [_vote(**row._asdict()) for row in verdicts]
    if all(row.is_counted for row in verdicts):
        return votes
    counts = {
        decision
        for row in rows.requests("WHERE a.id = %s::uuid", (approval_id,))
        for decision in row.progress.decisions
    }
    return [replace(vote, counts=vote.decision in counts) for vote in votes]


def _vote(*, is_counted: bool, args: str | None, **columns: Any) -> Vote:
    return Vote(args=decoded(args), **columns)


def for_thread(thread_id: UUID, *, open_only: bool = False) -> list[ApprovalRow]:
    """A thread's newest 100 requests, newest first."""
    return _of_thread(thread_id, ["pending"] if open_only else None)


def unsettled(thread_id: UUID) -> list[ApprovalRow]:
    """List what is withdrawn with a thread: open requests, decisions that do not count yet."""
    return _of_thread(thread_id, list(UNSETTLED))


def _of_thread(thread_id: UUID, statuses: list[str] | None) -> list[ApprovalRow]:
    params = {"thread": thread_id, "statuses": statuses}
    return rows.read(fetch_named(SQL.of_thread, params))


def approvals(
    *,
    workspace: UUID,
    status: str = "pending",
    thread: UUID | None = None,
    limit: int = 50,
    after: UUID | None = None,
) -> Page[ApprovalRow]:
    """Requests, of one thread or all: open ones by age, others newest first; cursor = last id.

    Raises InvalidValue for a cursor that names no request of the workspace.
    """
    params: dict[str, Any] = {
        "workspace": workspace,
        "thread": thread,
        "after": after,
        "limit": limit + 1,
    }
    with planned_for_this():
        if status == "pending":
            requests = rows.read(fetch_named(SQL.waiting, params))
        else:
            requests = rows.read(fetch_named(SQL.newest, params | {"status": status}))
    if not requests and after is not None and not in_workspace(after, workspace=workspace):
        raise InvalidValue("cursor", "is not a cursor of this list")
    next_cursor = str(requests[limit - 1].id) if len(requests) > limit else ""
    return Page(tuple(requests[:limit]), next_cursor)


def next_step_asked(thread_id: UUID) -> reads.Query:
    """The query of `at_step` for the step after the thread's current head."""
    return SQL.at_next_step, (thread_id,)


def at_step(
    thread_id: UUID, *, branch: int, step: int, answer: Sequence[Any] | None = None
) -> list[ApprovalRow]:
    """Requests of one step, newest revision of a position last; for the engine.

    `answer` is that to `next_step_asked` where somebody has it.
    """
    if answer is None:
        answer = reads.fetch(SQL.at_step, (thread_id, branch, step))
    return rows.read(answer)


def decided_before(row: ApprovalRow, *, limit: int = 5) -> list[ApprovalRow]:
    """The newest decisions on the same tool of the same agent, among the last 1,000 requests."""
    params = {
        "workspace": row.workspace,
        "before": row.requested_at,
        "tool": row.tool,
        "agent": row.agent,
        "limit": limit,
    }
    return rows.read(fetch_named(SQL.decided_before, params))


def words_in_thread(row: ApprovalRow, *, args_bytes: int) -> list[WordsRow]:
    """Read what people wrote in verdicts on a thread before a request was made, newest first.

    Edits of this very request count as well. Larger arguments than `args_bytes` are left out.
    """
    params = {
        "thread": row.thread,
        "before": row.requested_at,
        "request": row.id,
        "bytes": args_bytes,
    }
    verdicts = fetch_named(SQL.words_in_thread, params)
    return [record_of(WordsRow, one, args=decoded, asked_args=decoded) for one in verdicts]
