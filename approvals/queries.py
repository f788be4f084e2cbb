"""The only reader of approvals for upper floors; frozen dataclasses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints import deltas
from checkpoints.errors import NotFound
from checkpoints.views import Page
from django.db import connection

_APPROVAL = """
SELECT a.id, a.workspace_id, a.thread_id, th.title, th.agent, a.agent_version_id, a.branch, a.step,
  a.node, a.index, a.key, a.revision, a.kind, a.tool, a.args::text, a.proposal_hash, a.title,
  a.description, a.reasons::text, a.risk, a.schema::text, a.undo, a.deadline, a.status, a.outcome,
  a.comment, a.decided_by, a.decided_by_name, a.decided_at, a.decided_args::text, a.effective_at,
  a.requested_at
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id
"""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A request for approval with its proposal and, once decided, its outcome."""

    id: UUID
    workspace: UUID
    thread: UUID
    thread_title: str
    agent: str
    agent_version_id: UUID
    branch: int
    step: int
    node: str
    index: int
    key: str
    revision: int
    kind: str
    tool: str
    args: Any
    proposal_hash: str
    title: str
    description: str
    reasons: list[str]
    risk: str
    schema: Any
    undo: str
    deadline: datetime | None
    status: str
    outcome: str
    comment: str
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    decided_args: Any
    effective_at: datetime | None
    requested_at: datetime

    @property
    def open(self) -> bool:
        """Whether somebody can still decide it."""
        return self.status == "pending"

    @property
    def effect(self) -> bool:
        """Whether approving it makes something happen outside."""
        return self.kind == "gate" and bool(self.tool)


def _rows(sql: str, params: Sequence[Any]) -> list[ApprovalRow]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return [_row(r) for r in cursor.fetchall()]


def _json(text: str | None) -> Any:
    return None if text is None else deltas.decode(text)


def _row(r: tuple[Any, ...]) -> ApprovalRow:
    return ApprovalRow(
        *r[:14], _json(r[14]), *r[15:18], _json(r[18]), r[19], _json(r[20]), *r[21:29],
        _json(r[29]), *r[30:],
    )  # fmt: skip


def approval(approval_id: UUID, *, workspace: UUID) -> ApprovalRow:
    """One request; raises NotFound for unknown ids and those of other workspaces alike."""
    rows = _rows(
        _APPROVAL + "WHERE a.id = %s::uuid AND a.workspace_id = %s::uuid", (approval_id, workspace)
    )
    if not rows:
        raise NotFound("There is no such request in this workspace.")
    return rows[0]


def approvals(
    *, workspace: UUID, status: str = "pending", limit: int = 50, after: UUID | None = None
) -> Page[ApprovalRow]:
    """Requests: open ones by deadline and age, others newest first; cursor = id of the last."""
    where = ["a.workspace_id = %s::uuid"]
    params: list[Any] = [workspace]
    if status == "pending":
        where.append("a.status = 'pending'")
        order, sign = "a.requested_at, a.id", ">"
    else:
        if status == "decided":
            where.append("a.status <> 'pending'")
        elif status:
            where.append("a.status = %s::varchar")
            params.append(status)
        order, sign = "a.requested_at DESC, a.id DESC", "<"
    if after is not None:
        where.append(
            f"(a.requested_at, a.id) {sign} "
            "(SELECT requested_at, id FROM gp_approval WHERE id = %s::uuid)"
        )
        params.append(after)
    rows = _rows(
        f"{_APPROVAL} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %s", (*params, limit + 1)
    )
    return Page(tuple(rows[:limit]), str(rows[limit - 1].id) if len(rows) > limit else "")


def open_count(*, workspace: UUID) -> int:
    """How many requests wait for somebody."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM gp_approval WHERE workspace_id = %s::uuid "
            "AND status = 'pending' LIMIT 1000) x",
            (workspace,),
        )
        return int(cursor.fetchone()[0])


def for_thread(thread_id: UUID, *, open_only: bool = False) -> list[ApprovalRow]:
    """A thread's requests, newest first."""
    return _rows(
        _APPROVAL + "WHERE a.thread_id = %s::uuid "
        + ("AND a.status = 'pending' " if open_only else "")
        + "ORDER BY a.requested_at DESC, a.id DESC LIMIT 100",
        (thread_id,),
    )


def at_step(thread_id: UUID, *, branch: int, step: int) -> list[ApprovalRow]:
    """Requests of one step, newest revision of a position last; for the engine."""
    return _rows(
        _APPROVAL + "WHERE a.thread_id = %s::uuid AND a.branch = %s::integer "
        "AND a.step = %s::integer ORDER BY a.requested_at, a.revision",
        (thread_id, branch, step),
    )
