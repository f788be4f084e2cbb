"""Requests for approval as the API answers them, and the lists of them."""

from __future__ import annotations

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
from approvals.states import ANSWERS, STATUSES
from checkpoints.views import ELSEWHERE
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid
from dashboard.identity.permissions import Actor, Allowed, lacks, may
from dashboard.identity.seats import person_of, represents, seat_of, seated
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import FRAMEWORK, LIMIT_MAX, choice, flag, ident, rows

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
CHOICES = (*STATUSES, "decided", "all")
LIMIT = rows(LIMIT_MAX)
BOX = "The box of the inbox, in its order; without it the requests of `status`."


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


class Approvals(MemberView):
    """The inbox."""

    @extend_schema(
        operation_id="approvals_list",
        responses={200: ApprovalList, **refusals(422)},
        parameters=[
            choice("status", CHOICES, "pending unless given"),
            choice("box", inbox.BOXES, BOX),
            choice("sort", inbox.SORTS, "risk unless given"),
            FRAMEWORK,
            flag("mine", "Only open ones that wait for the caller."),
            ident("thread", "Only those of this thread; goes with `status` only."),
            ident("cursor", "`next_cursor` of the page before."),
            LIMIT,
        ],
        summary="List requests",
    )
    def get(self, request: Request) -> Response:
        """Open ones oldest first, others newest first; a box in the order that `sort` names."""
        thread = self.text("thread")
        boxed = self.text("box") or self.text("sort") or self.text("framework")
        if thread and (boxed or self.flag("mine")):
            raise Invalid("thread", "goes with a status only")
        if boxed:
            return self._box()
        status = self.text("status") or "pending"
        mine = self.flag("mine")
        if mine and status != "pending":
            raise Invalid("mine", "goes with the status pending only")
        if mine and not may(self.actor, "decide"):
            return answer(ApprovalList(results=[], next_cursor=""))
        if mine:
            return self._walk("mine", "age")
        page = queries.approvals(
            workspace=self.actor.workspace,
            status="" if status == "all" else status,
            thread=UUID(thread) if thread else None,
            limit=self.limit(LIMIT),
            after=self._cursor(),
        )
        who = seated(self.actor)
        results = [Approval.from_row(row, who) for row in page.rows]
        return answer(ApprovalList(results=results, next_cursor=page.next_cursor))

    def _box(self) -> Response:
        box, sort = self.text("box") or "open", self.text("sort") or "risk"
        if self.flag("mine"):
            if box not in ("open", "mine"):
                raise Invalid("mine", "goes with the boxes open and mine only")
            box = "mine"
        if self.text("status"):
            raise Invalid("status", "does not go with a box")
        if box == "mine" and not may(self.actor, "decide"):
            return answer(ApprovalList(results=[], next_cursor=""))
        return self._walk(box, sort)

    def _walk(self, box: str, sort: str) -> Response:
        who = seated(self.actor)
        wanted = inbox.Wanted(
            who.workspace, box, sort, person_of(who), framework=self.text("framework")
        )
        ids, more = inbox.walk(wanted, after=self._cursor(), limit=self.limit(LIMIT))
        result = queries.by_id(ids, workspace=who.workspace)
        rows = [Approval.from_row(result[ident], who) for ident in ids if ident in result]
        return answer(ApprovalList(results=rows, next_cursor=more))

    def _cursor(self) -> UUID | None:
        raw = self.text("cursor")
        return UUID(raw) if raw else None
