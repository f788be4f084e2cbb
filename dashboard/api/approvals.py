"""Requests for approval and the verdicts on them; a GET never decides."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import queries as gates
from approvals.inbox import boxes as inbox
from approvals.states import STATUSES
from dashboard import actions
from dashboard.errors import Invalid
from dashboard.identity.seats import person_of, seated

from .protocol.base import MemberView, answer, refusals
from .protocol.parameters import FRAMEWORK, choice, flag, ident
from .shapes.approval_detail import ApprovalDetail
from .shapes.approvals import Approval, ApprovalList, Decided
from .shapes.requests import Decide, DecideMany, Nothing
from .threads import LIMIT

CHOICES = (*STATUSES, "decided", "all")
BOX = "The box of the inbox, in its order; without it the requests of `status`."


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
        if mine and not actions.may(self.actor, "decide"):
            return answer(ApprovalList(results=[], next_cursor=""))
        if mine:
            return self._walk("mine", "age")
        page = gates.approvals(
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
        if box == "mine" and not actions.may(self.actor, "decide"):
            return answer(ApprovalList(results=[], next_cursor=""))
        return self._walk(box, sort)

    def _walk(self, box: str, sort: str) -> Response:
        who = seated(self.actor)
        wanted = inbox.Wanted(
            who.workspace, box, sort, person_of(who), framework=self.text("framework")
        )
        ids, more = inbox.walk(wanted, after=self._cursor(), limit=self.limit(LIMIT))
        result = gates.by_id(ids, workspace=who.workspace)
        rows = [Approval.from_row(result[ident], who) for ident in ids if ident in result]
        return answer(ApprovalList(results=rows, next_cursor=more))

    def _cursor(self) -> UUID | None:
        raw = self.text("cursor")
        return UUID(raw) if raw else None


class OneApproval(MemberView):
    """One request."""

    @extend_schema(
        responses={200: ApprovalDetail, **refusals(404)},
        summary="A request with its whole proposal, votes and questions",
    )
    def get(self, request: Request, approval_id: UUID) -> Response:
        """The standing_hash names what a verdict binds to."""
        row = gates.approval(approval_id, workspace=self.actor.workspace)
        return answer(ApprovalDetail.read(row, self.actor))


class DecideApproval(MemberView):
    """Decide a request."""

    changes = "decide"

    @extend_schema(
        request=Decide,
        operation_id="approvals_decide",
        responses={200: Approval, **refusals(404, 409, 422)},
        summary="Approve, edit, ask the agent, answer or reject",
    )
    def post(self, request: Request, approval_id: UUID) -> Response:
        """One outcome: the second one gets 409 with the recorded one in `approval`.

        A verdict that others are missing for leaves the request `pending`; one that can be taken
        back makes it `held` until `effective_at`.
        """
        body = self.body(Decide)
        row = actions.decide(self.actor, approval_id, **body.model_dump())
        return answer(Approval.from_row(row, self.actor))


class TakeBackApproval(MemberView):
    """Take a decision back."""

    changes = "decide"

    @extend_schema(
        request=Nothing,
        operation_id="approvals_take_back",
        responses={200: Approval, **refusals(404, 409)},
        summary="Undo your own decision before it takes effect",
    )
    def post(self, request: Request, approval_id: UUID) -> Response:
        """Until `effective_at`, by who decided it; the request is open again."""
        self.body(Nothing)
        return answer(Approval.from_row(actions.take_back(self.actor, approval_id), self.actor))


class DecideApprovals(MemberView):
    """Decide many requests."""

    changes = "decide"
    # Each verdict is a transaction of its own, and a second one is refused anyway.
    keyed = False

    @extend_schema(
        request=DecideMany,
        operation_id="approvals_decide_many",
        responses={200: Decided, **refusals(422)},
        summary="Decide several requests, each by its own hash",
    )
    def post(self, request: Request) -> Response:
        """One result per item, in their order; one that is refused stops no other.

        Together it is approve or reject only. High risk, a question, what several people approve
        in turn, and the verdicts edit and respond take a call of their own: such an item is 409
        `decided-alone`, as on the page, and the others are decided.
        """
        items = [item.model_dump() for item in self.body(DecideMany).root]
        return answer(Decided.from_row(actions.decide_many(self.actor, items), seated(self.actor)))
