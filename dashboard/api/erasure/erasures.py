"""Erasure of threads: requests, decisions, legal holds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.queries.erasures.requests import HoldRow
from dashboard import actions
from dashboard.actions.erasure import erasures
from dashboard.actions.erasure.erasures import ErasurePlan
from dashboard.api.protocol.base import PREVIEW, MemberView, answer, refusals
from dashboard.api.shapes.requests import RequestShape
from dashboard.api.shapes.texts import NotBlank
from dashboard.documents.state_shape import Shape
from dashboard.fields.validation import REASON_MAX


class Erasure(Shape):
    """A request for erasure; `rule` is the retention rule that made it.

    `requested`: a second person is awaited. `approved`: its threads are closed and are being
    erased. `done`: content, salts and files are gone. `refused`.
    """

    id: UUID
    thread: UUID
    scope: Literal["thread", "family"]
    n_threads: int
    reason: str
    rule: UUID | None
    state: Literal["requested", "approved", "done", "refused"]
    requested_by: str
    requested_by_name: str
    requested_at: datetime
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    comment: str
    finished_at: datetime | None
    n_rows: int
    n_bytes: int
    n_files: int


class ErasureList(Shape):
    """Requests that wait, then the newest of the others; at most 200."""

    results: list[Erasure]


class ErasurePreview(Shape):
    """The reach of an erasure; `obstacle` is empty where it can be requested."""

    scope: str
    threads: list[UUID]
    forks: int
    unfinished: list[UUID]
    held: list[UUID]
    rows: int
    bytes: int
    files: int
    file_bytes: int
    obstacle: str

    @classmethod
    def of(cls, plan: ErasurePlan) -> Self:
        """The plan for the wire."""
        selection, counts = plan.selection, plan.counts
        return cls(
            scope=plan.scope,
            threads=selection.ids,
            forks=selection.n_forks,
            unfinished=[one.id for one in selection.unfinished],
            held=[one.id for one in selection.held],
            rows=counts.rows,
            bytes=counts.bytes,
            files=counts.files,
            file_bytes=counts.file_bytes,
            obstacle=plan.obstacle,
        )


class ErasureAnswer(RootModel[Erasure | ErasurePreview]):
    """The request; with `?preview=1` what it would drop."""


class RequestErasure(RequestShape):
    """Which threads, and why."""

    reason: Annotated[str, NotBlank(REASON_MAX)] = Field(
        description="It stays in the log: write nothing into it that has to be erased."
    )
    scope: Literal["thread", "family"] = Field(
        "thread",
        description="`thread`: with its forks and children. `family`: including its origin.",
    )


class DecideErasure(RequestShape):
    """The verdict of a second person."""

    verdict: Literal["approve", "refuse"]
    comment: Annotated[str, Field(max_length=REASON_MAX)] = ""


class Hold(Shape):
    """A legal hold on a thread; `lifted_at` is null while it is set."""

    id: UUID
    thread: UUID
    reason: str
    set_by: str
    set_at: datetime
    lifted_by: str
    lifted_at: datetime | None
    lift_reason: str

    @classmethod
    def of(cls, row: HoldRow) -> Self:
        """The row for the wire."""
        return cls.model_validate(row)


class HoldList(Shape):
    """Holds that are set, then the newest of the others; at most 200."""

    results: list[Hold]


class ChangeHold(RequestShape):
    """The reason for which a hold is set or lifted."""

    reason: Annotated[str, NotBlank(REASON_MAX)]


class Erasures(MemberView):
    """All requests of the workspace."""

    @extend_schema(
        operation_id="erasures_list",
        responses={200: ErasureList, **refusals()},
        summary="List requests for erasure",
    )
    def get(self, request: Request) -> Response:
        """Those that wait first."""
        rows = erasures.erasures(self.actor)
        return answer(ErasureList(results=[Erasure.model_validate(row) for row in rows]))


class OneErasure(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="erasures_retrieve",
        responses={200: Erasure, **refusals(404)},
        summary="A request for erasure, and how far it is",
    )
    def get(self, request: Request, erasure_id: UUID) -> Response:
        """As it is now."""
        return answer(Erasure.model_validate(erasures.erasure(self.actor, erasure_id)))


class DecideOneErasure(MemberView):
    """Approve or refuse a request."""

    changes = "erase"

    @extend_schema(
        operation_id="erasures_decide",
        request=DecideErasure,
        responses={200: Erasure, **refusals(404, 409, 422)},
        summary="Approve an erasure, which carries it out, or refuse it",
        description="The person who requested it is refused with 403. 409 where the threads that "
        "belong to it have changed since, one of them is not finished, or a legal hold is set.",
    )
    def post(self, request: Request, erasure_id: UUID) -> Response:
        """200 with the request; large families are still `approved` then."""
        body = self.body(DecideErasure)
        row = actions.decide_erasure(
            self.actor, erasure_id, body.verdict == "approve", body.comment
        )
        return answer(Erasure.model_validate(row))


class EraseThread(MemberView):
    """Request the erasure of a thread."""

    changes = "request_erasure"
    previews: ClassVar[bool] = True

    @extend_schema(
        operation_id="threads_erase",
        request=RequestErasure,
        parameters=[PREVIEW],
        responses={201: Erasure, 200: ErasurePreview, **refusals(404, 409, 422)},
        summary="Request the erasure of a thread and all that shares its past",
        description="Nothing is erased before a second person approves. All threads that go with "
        "it must be finished by then. With `?preview=1` nothing is requested, and 200 answers "
        "what would go.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """201 with the request."""
        body = self.body(RequestErasure)
        if self.flag("preview"):
            plan = actions.preview_erasure(self.actor, thread_id, body.scope, body.reason)
            return answer(ErasurePreview.of(plan))
        row = actions.request_erasure(self.actor, thread_id, body.scope, body.reason)
        return answer(Erasure.model_validate(row), status=201)


class Holds(MemberView):
    """Legal holds of the workspace."""

    @extend_schema(
        operation_id="holds_list",
        responses={200: HoldList, **refusals()},
        summary="List legal holds",
    )
    def get(self, request: Request) -> Response:
        """Those that are set first."""
        return answer(HoldList(results=[Hold.of(row) for row in erasures.holds(self.actor)]))


class HoldThread(MemberView):
    """Set a legal hold."""

    changes = "hold"

    @extend_schema(
        operation_id="threads_hold",
        request=ChangeHold,
        responses={201: Hold, **refusals(404, 409, 422)},
        summary="Set a legal hold: nothing of the thread is erased until it is lifted",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """201 with the hold."""
        body = self.body(ChangeHold)
        return answer(Hold.of(actions.set_hold(self.actor, thread_id, body.reason)), status=201)


class LiftHoldOfThread(MemberView):
    """Lift a legal hold."""

    changes = "hold"

    @extend_schema(
        operation_id="threads_lift_hold",
        request=ChangeHold,
        responses={200: Hold, **refusals(404, 409, 422)},
        summary="Lift the legal hold of a thread",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """200 with the hold as it was."""
        body = self.body(ChangeHold)
        return answer(Hold.of(actions.lift_hold(self.actor, thread_id, body.reason)))
