"""Requests for approval as the API answers them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from approvals import gates
from approvals.queries import ApprovalRow
from approvals.rules.terms import names_of
from approvals.rules.verdicts import ALLOWED
from approvals.states import ANSWERS
from dashboard.actions.decisions import Decided as DecidedRow
from dashboard.documents.state_shape import Shape
from dashboard.identity.permissions import Actor, Allowance, lacks
from dashboard.identity.seats import represents, seat_of
from dashboard.wording.turns import own_part

from .problems import of_item
from .rows import ELSEWHERE, Allowed, Problem

# An agent that interrupts says in the schema which answers it takes.
NAMES_VERDICTS: JsonDict = {
    "properties": {
        ALLOWED: {
            "type": "array",
            "items": {"type": "string", "enum": list(ANSWERS)},
            "description": "Where the agent takes fewer verdicts than others (an interrupt): "
            "those that it takes. `verdicts` is what follows from it.",
        }
    },
}


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
    sentence: str = Field(
        description="How the tool describes what was asked; empty where it does not."
    )
    description: str
    reasons: list[str]
    risk: str
    schema_: Any = Field(
        alias="schema",
        description="JSON Schema of the answer to a question, or of a gate's edited arguments.",
        json_schema_extra=NAMES_VERDICTS,
    )
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
    effective_at: datetime | None = Field(
        description="From when the decision counts; until then its author can undo it."
    )
    what_next: str
    policy_version: str
    shown_args: Any = Field(description="The arguments that stand: those of an edit, or `args`.")
    standing_hash: str = Field(description="What a verdict has to name as `proposal_hash`.")
    decide_by: datetime | None
    escalated_at: datetime | None
    imported: bool = Field(description=ELSEWHERE)
    damaged: bool = Field(description="the record of its thread was found damaged")
    verdicts: list[str] = Field(
        description="What can be said to it: what its kind takes, as far as `x-verdicts` of its "
        "schema allows; reject always."
    )
    decide: Allowed

    @classmethod
    def from_row(cls, row: ApprovalRow, actor: Actor) -> Self:
        """The request for one caller."""
        names = [f.alias or name for name, f in cls.model_fields.items()]
        own = {name: getattr(row, name) for name in names if hasattr(row, name)}
        verdicts = list(gates.verdicts_of(row))
        return cls(**own, verdicts=verdicts, decide=Allowed.model_validate(decidable(row, actor)))


def decidable(row: ApprovalRow, actor: Actor) -> Allowance:
    """Check whether this caller may decide this request now."""
    if message := lacks(actor, "decide"):
        return Allowance(False, message)
    if not row.open:
        return Allowance(False, f"The request is {row.status}.")
    names = names_of(*seat_of(actor))
    part = own_part(row.progress, actor.person, names, represents(actor), request=row.id)
    why = part.why or part.waits
    return Allowance(not why, why)


class ApprovalList(Shape):
    """Requests; open ones oldest first, others newest first."""

    results: list[Approval]
    next_cursor: str


class DecidedOne(Shape):
    """The result of one verdict: the request, or the problem that a single call would answer."""

    id: UUID
    status: int = Field(description="The status that a single call would answer.")
    approval: Approval | None
    problem: Problem | None

    @classmethod
    def from_row(cls, one: DecidedRow, actor: Actor, path: str) -> Self:
        """Build one result for the caller; `path` locates its verdict in the request."""
        return cls(
            id=one.id,
            status=200 if one.error is None else one.error.status,
            approval=None if one.row is None else Approval.from_row(one.row, actor),
            problem=None if one.error is None else Problem.model_validate(of_item(one.error, path)),
        )


class Decided(Shape):
    """One result per verdict, in their order."""

    results: list[DecidedOne]

    @classmethod
    def from_row(cls, done: list[DecidedRow], actor: Actor) -> Self:
        """The results for the caller."""
        result = enumerate(done)
        return cls(results=[DecidedOne.from_row(one, actor, f"$[{i}]") for i, one in result])
