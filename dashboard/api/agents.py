"""Agents as their workers announced them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries

from .base import Door, answer
from .shapes import Agent, AgentList


class Agents(Door):
    """All agents."""

    @extend_schema(responses=AgentList, summary="The newest version of each agent")
    def get(self, request: Request) -> Response:
        """By name."""
        found = [Agent.model_validate(row) for row in queries.agents()]
        return answer(AgentList(results=found))


class OneAgent(Door):
    """One agent."""

    @extend_schema(responses=Agent, summary="The version that a new thread would take")
    def get(self, request: Request, name: str) -> Response:
        """The version of live workers, else the newest."""
        return answer(Agent.model_validate(queries.agent(name)))
