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
from dashboard.kit.api.parameters import choice, words

from .figure import Figure
from .figures import FIGURES, all_figures, figure
from .period import LENGTHS, period_of
from .reads import Overview

DAY = r"^\d{4}-\d\d-\d\d$"


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
        parameters=[
            choice("period", list(LENGTHS), "The last 24 hours, 7 days (as usual) or 30 days."),
            words("from", "The first day (UTC), in place of a period.", pattern=DAY),
            words("to", "The last day (UTC); a period has at most 92 days.", pattern=DAY),
            words("agent", "The name of an agent."),
            choice("figure", list(FIGURES), "One figure; otherwise all."),
        ],
        summary="Figures over time: threads, waits, decisions, failures, cost",
        description="The figures of the page. Days before today are added up and renewed every "
        "half hour; today is counted now.",
    )
    def get(self, request: Request) -> Response:
        """The page's figures by name."""
        period = period_of(name=self.text("period"), first=self.text("from"), last=self.text("to"))
        look = Overview(self.actor.workspace, period, self.text("agent"))
        return answer(OverviewAnswer.of(look, self.text("figure")))
