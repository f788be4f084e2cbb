"""Requests for approval as the API answers them, and the lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from pydantic.config import JsonDict
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import gates, queries
from approvals.inbox import boxes as inbox
from approvals.queries import ApprovalRow
from approvals.rules.terms import names_of
from approvals.rules.verdicts import ALLOWED
from approvals.states import ANSWERS
from checkpoints.views import ELSEWHERE, Page
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid
from dashboard.fields.filters import CALL, given_at, read
from dashboard.identity.permissions import Actor, Allowed, lacks, may
from dashboard.identity.seats import person_of, represents, seat_of, seated
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, choice, ident, rows
from dashboard.kit.filters import call_parameters

from .filters import REQUESTS
from .turns import own_part

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
FILTERS = given_at(REQUESTS, CALL)
BOXED = frozenset(one.name for one in REQUESTS if one.boxed)
LIMIT = rows(LIMIT_MAX)


# The row of the floor below with what this caller may do, and without what only gates need.
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
        return cls(**own, verdicts=verdicts, decide=decidable(row, actor))


def decidable(row: ApprovalRow, actor: Actor) -> Allowed:
    """Check whether this caller may decide this request now."""
    if message := lacks(actor, "decide"):
        return Allowed(False, message)
    if not row.open:
        return Allowed(False, f"The request is {row.status}.")
    names = names_of(*seat_of(actor))
    part = own_part(row.progress, actor.person, names, represents(actor), request=row.id)
    why = part.why or part.waits
    return Allowed(not why, why)


class ApprovalList(Shape):
    """Requests; open ones oldest first, others newest first."""

    results: list[Approval]
    next_cursor: str


def list_requests(
    actor: Actor,
    values: Mapping[str, Any],
    *,
    sort: str = "",
    after: UUID | None = None,
    limit: int,
) -> Page[ApprovalRow]:
    """Requests of a box, where one is named or a filter or order of boxes, else of a status.

    `values` are those of REQUESTS that are given, by name.
    """
    boxed = {name: value for name, value in values.items() if name in BOXED}
    mine = "mine" in values
    if "thread" in values and (boxed or sort or mine):
        raise Invalid("thread", "goes with a status only")
    if boxed or sort:
        if mine and boxed.get("box", "open") not in ("open", "mine"):
            raise Invalid("mine", "goes with the boxes open and mine only")
        if "status" in values:
            raise Invalid("status", "does not go with a box")
        boxed |= {"box": "mine"} if mine else {}
        return _walk(actor, boxed, sort or "risk", after, limit)
    status = values.get("status", "pending")
    if mine and status != "pending":
        raise Invalid("mine", "goes with the status pending only")
    if mine:
        return _walk(actor, {"box": "mine"}, "age", after, limit)
    return queries.approvals(
        workspace=actor.workspace,
        status="" if status == "all" else status,
        thread=values.get("thread"),
        limit=limit,
        after=after,
    )


def _walk(
    actor: Actor, boxed: Mapping[str, Any], sort: str, after: UUID | None, limit: int
) -> Page[ApprovalRow]:
    if boxed.get("box") == "mine" and not may(actor, "decide"):
        return Page((), "")
    who = seated(actor)
    wanted = inbox.Wanted(who.workspace, sort=sort, person=person_of(who), **boxed)
    ids, next_cursor = inbox.walk(wanted, after=after, limit=limit)
    known = queries.by_id(ids, workspace=who.workspace)
    return Page(tuple(known[ident] for ident in ids if ident in known), next_cursor)


def listed(page: Page[ApprovalRow], actor: Actor) -> ApprovalList:
    """A page of requests for one caller."""
    who = seated(actor)
    results = [Approval.from_row(row, who) for row in page.rows]
    return ApprovalList(results=results, next_cursor=page.next_cursor)


class Approvals(MemberView):
    """The inbox."""

    @extend_schema(
        operation_id="approvals_list",
        responses={200: ApprovalList, **refusals(422)},
        parameters=[
            *call_parameters(REQUESTS),
            choice("sort", inbox.SORTS, "risk unless given"),
            ident("cursor", "`next_cursor` of the page before."),
            LIMIT,
        ],
        summary="List requests",
    )
    def get(self, request: Request) -> Response:
        """Open ones oldest first, others newest first; a box in the order that `sort` names."""
        values = read(FILTERS, {one.name: self.text(one.name) for one in FILTERS})
        cursor = self.text("cursor")
        page = list_requests(
            self.actor,
            values,
            sort=self.text("sort"),
            after=UUID(cursor) if cursor else None,
            limit=self.limit(LIMIT),
        )
        return answer(listed(page, self.actor))
