"""Spend caps: how much threads may spend before they pause."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.policies import queries as queries_policies
from approvals.policies.changes import MAX_COST
from approvals.policies.queries import CapRow
from checkpoints.limits import AGENT_MAX
from dashboard import actions
from dashboard.documents.state_shape import Shape

from .protocol.base import MemberView, answer, refusals
from .shapes.requests import RequestShape


class Cap(Shape):
    """A limit on what threads may spend before they pause."""

    id: UUID
    scope: str
    agent: str
    per: str
    max_cost: str
    active: bool

    @classmethod
    def of(cls, row: CapRow) -> Self:
        """The row for the wire."""
        return cls(
            id=row.id,
            scope=row.scope,
            agent=row.agent,
            per=row.per,
            max_cost=row.plain,
            active=row.active,
        )


class CapList(Shape):
    """All spend caps."""

    results: list[Cap]


class SetCap(RequestShape):
    """A spend cap; the one of this scope, agent and span is replaced."""

    scope: Literal["thread", "agent", "workspace"] = Field(
        description="What the cap applies to: each thread, all threads of an agent, or the "
        "workspace."
    )
    per: Literal["total", "day"]
    max_cost: str = Field(
        description="A decimal string.", json_schema_extra={"pattern": f"^{MAX_COST.pattern}$"}
    )
    agent: Annotated[str, Field(max_length=AGENT_MAX)] = Field(
        "", description="Empty: the cap holds for each agent."
    )
    active: bool = True


class Caps(MemberView):
    """Spend caps."""

    changes = "policy"

    @extend_schema(
        operation_id="caps_list",
        responses={200: CapList, **refusals()},
        summary="List spend caps",
    )
    def get(self, request: Request) -> Response:
        """Those that are switched off included."""
        rows = queries_policies.caps(self.actor.workspace)
        return answer(CapList(results=[Cap.of(row) for row in rows]))

    @extend_schema(
        operation_id="caps_set",
        request=SetCap,
        responses={200: Cap, **refusals(422)},
        summary="Make or change a spend cap",
    )
    def post(self, request: Request) -> Response:
        """One per scope, agent and span."""
        return answer(Cap.of(actions.set_cap(self.actor, **self.body(SetCap).model_dump())))
