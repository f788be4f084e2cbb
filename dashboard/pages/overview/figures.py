"""All figures of the overview by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import money, work
from .figure import Figure
from .reads import Overview

FIGURES: Final[dict[str, Callable[[Overview], Figure]]] = {
    "throughput": work.throughput,
    "outcomes": money.outcomes,
    "waiting": work.waiting,
    "decisions": work.decisions,
    "failures": work.failures,
    "spending": money.spending,
    "agents": money.agents,
    "models": money.models,
    "teams": money.teams,
    "reviewers": work.reviewers,
    "saved": work.saved,
}


def figure(look: Overview, name: str) -> Figure:
    """One of them."""
    return FIGURES[name](look)


def all_figures(look: Overview) -> list[Figure]:
    """All of them, by at most six statements in all."""
    return [make(look) for make in FIGURES.values()]
