"""One action on many threads, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.kit.api.base import PREVIEW, MemberView, answer, refusals
from dashboard.kit.shapes.problems import Problem, of_action
from dashboard.kit.shapes.requests import Changes, RequestShape
from dashboard.kit.shapes.texts import Id, OneOf, Reason
from dashboard.threads.many import (
    AT_ONCE,
    BULK_ACTIONS,
    BulkAction,
    Outcome,
    act_on_many,
    preview_many,
)


class ActOnMany(RequestShape):
    """The same action for several threads."""

    action: Annotated[str, OneOf(BULK_ACTIONS)]
    threads: Annotated[list[Id], Field(min_length=1, max_length=AT_ONCE)]
    reason: Reason = Field("", description="Required to edit, skip, cancel and roll back.")
    to: Annotated[int, Field(ge=0, lt=2**31)] | None = Field(
        None, description="The number of the checkpoint to roll back to."
    )
    changes: Changes = Field(
        default_factory=dict,
        description="Edit: new values by channel, for threads of one agent version.",
    )
    then_retry: bool = Field(False, description="Edit: the threads then retry their step.")
    undo: bool = Field(False, description="Cancel: undo its effects first.")

    def bulk_action(self) -> BulkAction:
        """Return the action."""
        return BulkAction(
            self.action, self.to, self.undo, self.reason, self.changes, self.then_retry
        )


class OneOutcome(Shape):
    """The result for one thread; `status` is what a single call would answer."""

    id: UUID
    status: int
    thread_status: str | None
    undone: int = Field(description="Effects that are undone.")
    stays: int = Field(description="Effects that stay done.")
    unknown: int = Field(description="Effects of which nobody knows whether they happened.")
    problem: Problem | None

    @classmethod
    def from_row(cls, one: Outcome) -> Self:
        """One result."""
        return cls(
            id=one.thread,
            status=200 if one.error is None else one.error.status,
            thread_status=None if one.row is None else str(one.row.status),
            undone=one.undone,
            stays=one.stays,
            unknown=one.unknown,
            problem=None if one.error is None else Problem.model_validate(of_action(one.error)),
        )


class Outcomes(Shape):
    """One result per thread, in their order."""

    results: list[OneOutcome]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Self:
        """The answer."""
        return cls(results=[OneOutcome.from_row(one) for one in outcomes])


class ManyThreads(MemberView):
    """Many threads."""

    # The action itself checks the right that it needs.
    changes = "read"
    previews = True
    # Each is a transaction of its own, and a second one is refused anyway.
    keyed = False

    @extend_schema(
        operation_id="threads_many",
        request=ActOnMany,
        responses={200: Outcomes, **refusals(403, 422)},
        parameters=[PREVIEW],
        summary="Pause, retry, edit, skip, cancel or roll back several threads",
        description="Each is handled separately: one that is refused stops no other. A skip "
        "passes the node that "
        "comes next. `preview=1` counts what would be undone "
        "and says which threads are refused.",
    )
    def post(self, request: Request) -> Response:
        """One result per thread."""
        body = self.body(ActOnMany)
        act = preview_many if self.flag("preview") else act_on_many
        return answer(Outcomes.of(act(self.actor, body.bulk_action(), body.threads)))
