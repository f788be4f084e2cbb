"""Retention rules: how long finished threads stay."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.limits import AGENT_MAX
from checkpoints.store.erasure.rules import FLOOR_DAYS, MOST_DAYS
from dashboard import actions
from dashboard.actions.erasure import retention
from dashboard.api.protocol.base import PREVIEW, MemberView, answer, refusals
from dashboard.api.shapes.requests import RequestShape
from dashboard.documents.state_shape import Shape


class RetentionRule(Shape):
    """A rule; `agent` is empty for all agents without one of their own."""

    id: UUID
    agent: str
    days: int
    archive: bool
    active: bool
    set_by: str
    set_at: datetime


class RetentionList(Shape):
    """All rules of the workspace, by agent."""

    results: list[RetentionRule]


class RetentionPreview(Shape):
    """The number of threads such a rule would erase now, counted up to 10,001."""

    due: int


class RetentionAnswer(RootModel[RetentionRule | RetentionPreview]):
    """The rule; with `?preview=1` what it would erase."""


class SetRetention(RequestShape):
    """The number of days after its end a thread is erased."""

    days: int = Field(ge=FLOOR_DAYS, le=MOST_DAYS)
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = Field(
        "", description="Empty: all agents without a rule of their own."
    )
    archive: bool = Field(False, description="Put a capsule of it into the file store first.")
    active: bool = Field(True, description="False switches the rule off.")


class Retention(MemberView):
    """All rules, or one more."""

    changes = "retention"
    previews: ClassVar[bool] = True

    @extend_schema(
        operation_id="retention_list",
        responses={200: RetentionList, **refusals()},
        summary="List retention rules",
    )
    def get(self, request: Request) -> Response:
        """Those that are switched off as well."""
        rows = retention.retention_rules(self.actor)
        shown = [RetentionRule.model_validate(row) for row in rows]
        return answer(RetentionList(results=shown))

    @extend_schema(
        operation_id="retention_set",
        request=SetRetention,
        parameters=[PREVIEW],
        responses={200: RetentionAnswer, **refusals(422)},
        summary="Set how long finished threads of an agent stay",
        description="Threads that are due are erased a few at a time, each erasure names the rule. "
        "A legal hold, a fork or a child that is not due yet lets a thread stay. With `?preview=1` "
        "nothing is set, and the answer counts the threads that are due by it.",
    )
    def post(self, request: Request) -> Response:
        """200 with the rule."""
        body = self.body(SetRetention)
        if self.flag("preview"):
            due = actions.preview_retention(self.actor, body.agent, body.days)
            return answer(RetentionPreview(due=due))
        row = actions.set_retention(self.actor, body.agent, body.days, body.archive, body.active)
        return answer(RetentionRule.model_validate(row))
