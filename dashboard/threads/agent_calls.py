"""Agents as their workers announced them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from checkpoints.state import deltas
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.threads.thread_shapes import AgentDetail, AgentList


class Agents(MemberView):
    """All agents."""

    @extend_schema(
        operation_id="agents_list",
        responses={200: AgentList, **refusals()},
        summary="The newest version of each agent",
    )
    def get(self, request: Request) -> Response:
        """By name."""
        return answer(AgentList(results=queries.agents(workspace=self.actor.workspace)))


class OneAgent(MemberView):
    """One agent."""

    @extend_schema(
        responses={200: AgentDetail, **refusals(404)},
        summary="The version that a new thread would take",
    )
    def get(self, request: Request, name: str) -> Response:
        """The version of live workers, else the newest."""
        deltas.check(name, "name")
        workspace = self.actor.workspace
        row = queries.agent(name, workspace=workspace)
        return answer(AgentDetail.of(row, workspace))
