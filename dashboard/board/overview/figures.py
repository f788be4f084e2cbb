"""All figures of the overview by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from . import money, storage, work
from .behind import term, threads_at_work
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
    "storage": storage.storage,
}


# By the first columns of a figure: the terms of a query for the threads of a row.
_NARROWED: Final[dict[str, Callable[[Sequence[Any]], tuple[str, ...]]]] = {
    "agents": lambda row: (term("agent", row[0]),),
    "failures": lambda row: (
        term("agent", row[0]),
        term("node", row[1]),
        term("status", "failed"),
    ),
    "teams": lambda row: (term("label", f"team={row[0]}" if row[0] != money.NO_TEAM else ""),),
    "outcomes": lambda row: (
        term("agent", row[0] if row[0] != money.ALL else ""),
        "status:succeeded,failed,cancelled",
    ),
}


def figure(look: Overview, name: str) -> Figure:
    """One of them."""
    return FIGURES[name](look)


def all_figures(look: Overview) -> list[Figure]:
    """All of them, by at most seven statements in all; each row leads to the threads behind it."""
    figures, now = [make(look) for make in FIGURES.values()], look.sizes.at
    return [_linked(one, tuple(_links(look, one, now))) for one in figures]


def _linked(figure: Figure, links: tuple[str, ...]) -> Figure:
    """A figure whose rows and bars lead to the threads behind them."""
    plot, bars = figure.plot, figure.ranks
    if plot is not None:
        pairs = zip(plot.columns, links, strict=True)
        columns = tuple(replace(one, href="" if one.empty else link) for one, link in pairs)
        plot = replace(plot, columns=columns)
    if bars is not None:
        bars = replace(bars, rows=tuple(replace(one, href=links[one.index]) for one in bars.rows))
    return replace(figure, links=links, plot=plot, ranks=bars)


def _links(look: Overview, figure: Figure, now: float) -> list[str]:
    period = look.period
    if figure.name == "storage":
        return [""] * len(figure.rows)  # of all threads, whenever they worked
    of_agent = term("agent", look.agent)
    if figure.columns[0] is work.TIME:
        step = timedelta(hours=1) if figure.hours else timedelta(days=1)
        starts = [row[0] for row in figure.rows]
        return [
            threads_at_work(at, at + step, of_agent, now=now)
            for at in starts
            if isinstance(at, datetime)  # it always is; the type of a cell is wider
        ]
    narrowed = _NARROWED.get(figure.name)
    return [
        threads_at_work(
            period.low, period.high, of_agent, *(narrowed(row) if narrowed else ()), now=now
        )
        for row in figure.rows
    ]
