"""Figures of the overview."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.documents.state_shape import Shape
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.filters import call_parameters

from .choices import CHOICES, overview_of
from .figure import Figure
from .figures import all_figures, figure
from .reads import Overview


class OverviewFigure(Shape):
    """A table; `rule` says how it counts. Money is a decimal string, waits are seconds."""

    title: str
    rule: str
    columns: dict[str, str] = Field(description="the key of each column with its title")
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, one: Figure) -> Self:
        """The figure for the wire."""
        columns = {column.key: column.title for column in one.columns}
        return cls(title=one.title, rule=one.rule, columns=columns, rows=one.records())


class OverviewAnswer(Shape):
    """Figures by name, from `since` until before `until`, by hour or day (`unit`)."""

    since: datetime
    until: datetime
    unit: str
    agent: str = Field(description="empty: all agents")
    figures: dict[str, OverviewFigure]

    @classmethod
    def of(cls, look: Overview, name: str = "") -> Self:
        """All figures, or one."""
        chosen = [figure(look, name)] if name else all_figures(look)
        return cls(
            since=look.period.low,
            until=look.period.high,
            unit=look.period.unit,
            agent=look.agent,
            figures={one.name: OverviewFigure.of(one) for one in chosen},
        )


class OverviewFigures(MemberView):
    """Figures of threads, cost and waits over time."""

    @extend_schema(
        operation_id="overview_retrieve",
        responses={200: OverviewAnswer, **refusals(422)},
        parameters=call_parameters(CHOICES),
        summary="Figures over time: threads, waits, decisions, failures, cost",
        description="The figures of the page. Hours and days that are past are added up, and again "
        "when a thread that ended in them continues; what else changes, such as a team, shows "
        "within half an hour. The present hour is counted now.",
    )
    def get(self, request: Request) -> Response:
        """The page's figures by name."""
        texts = {one.name: self.text(one.name) for one in CHOICES}
        look = overview_of(self.actor.workspace, texts)
        return answer(OverviewAnswer.of(look, texts["figure"]))
