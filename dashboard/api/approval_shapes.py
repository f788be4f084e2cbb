"""Requests for approval as the API answers them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import Field

from approvals.queries import ApprovalRow
from dashboard.permissions import Allowance, HasRoles, lacks

from .shapes import ELSEWHERE, Allowed, Shape


class Approval(Shape):
    """A request for approval; `decide` says whether the caller may."""

    id: UUID
    thread: UUID
    thread_title: str
    agent: str
    agent_version_id: UUID
    branch: int
    step: int
    node: str
    kind: str
    tool: str
    args: Any
    proposal_hash: str
    title: str
    description: str
    reasons: list[str]
    risk: str
    schema_: Any = Field(alias="schema", description="JSON Schema of the answer to a question")
    undo: str
    deadline: datetime | None
    requested_at: datetime
    status: str
    outcome: str
    comment: str
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    decided_args: Any
    effective_at: datetime | None
    imported: bool = Field(description=ELSEWHERE)
    verdicts: list[str]
    decide: Allowed

    @classmethod
    def told(cls, row: ApprovalRow, actor: HasRoles) -> Self:
        """The request for one caller."""
        names = [f.alias or name for name, f in cls.model_fields.items()]
        own = {name: getattr(row, name) for name in names if hasattr(row, name)}
        verdicts = ["respond", "reject"] if row.kind == "question" else ["approve", "reject"]
        return cls(**own, verdicts=verdicts, decide=Allowed.model_validate(decidable(row, actor)))


def decidable(row: ApprovalRow, actor: HasRoles) -> Allowance:
    """Whether this caller may decide this request now."""
    if said := lacks(actor, "decide"):
        return Allowance(False, said)
    if not row.open:
        return Allowance(False, f"The request is {row.status}.")
    return Allowance(True)


class ApprovalList(Shape):
    """Requests; open ones oldest first, others newest first."""

    results: list[Approval]
    next_cursor: str
