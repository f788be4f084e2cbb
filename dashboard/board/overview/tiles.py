"""Numbers above the figures of the overview, each with its trend over the period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from checkpoints import queries
from dashboard.html.charts.over_time import Series, TimePlot, over_time
from dashboard.wording.savings import counted
from dashboard.wording.text import capped, number, span

from .figure import money
from .money import total_outcome
from .reads import Overview

# From which part of the whole on something gone wrong has a tone; one failure of many has none.
# Threads: failed of those that succeeded or failed. Money: mistakes of what was spent.
ENDS: Final = ("succeeded", "failed", "cancelled")
CHILDREN: Final = ("child_started", "child_succeeded")
BANDS: Final = ((0.10, "t-fail"), (0.05, "t-wait"))


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that a person looks at first; `beside` says what it means.

    `trend` draws it over the period; `oldest` is the time since when the first of them waits.
    """

    name: str
    value: str
    beside: str
    tone: str = ""
    trend: TimePlot | None = None
    oldest: datetime | None = None


def tiles(look: Overview) -> list[Tile]:
    """The numbers of the period at a glance, and what workers do now."""
    sums = look.total(*CHILDREN, *ENDS, "started", "spent", "saved")
    children = {name: _children(sums[f"child_{name}"].n) for name in ("started", "succeeded")}
    ended = sum(sums[name].n for name in ENDS)
    outcome, waits = total_outcome(look), look.decided.total
    times = look.by_time("started", "succeeded", "spent")
    medians = [look.decided.waits.get(at) for at in look.period.times]
    return [
        Tile(
            "Started",
            number(sums["started"].n),
            f"{_or_none(ended)} ended{children['started']}",
            trend=_trend(look, [row["started"].n for _, row in times]),
        ),
        Tile(
            "Succeeded",
            share(sums["succeeded"].n, ended),
            _without_success(sums["failed"].n, sums["cancelled"].n) + children["succeeded"],
            tone_of(sums["failed"].n, sums["succeeded"].n + sums["failed"].n),
            trend=_trend(look, [row["succeeded"].n for _, row in times]),
        ),
        Tile(
            "Wait for people",
            span(waits.median),
            f"median of {counted(waits.n, 'verdict')} by people"
            if waits.n
            else "no verdict by people",
            trend=_trend(look, [None if one is None else one.median for one in medians]),
        ),
        Tile(
            "Spent",
            money(sums["spent"].cost),
            counted(sums["spent"].tokens, "token") if sums["spent"].tokens else "no tokens",
            trend=_trend(look, [float(row["spent"].cost) for _, row in times]),
        ),
        Tile(
            "Cost per success",
            _money(outcome.per_success),
            f"{_money(outcome.per_success_with_mistakes)} with mistakes",
        ),
        Tile(
            "Cost of mistakes",
            money(outcome.mistakes),
            "failed, cancelled, rolled back",
            tone_of(outcome.mistakes, sums["spent"].cost),
        ),
        _workers(look),
        *([_hot_steps(look)] if look.has_hot_agents else []),
    ]


def share(n: int, whole: int) -> str:
    """A part of the whole in percent; all and nothing are never what it is rounded to."""
    if not whole:
        return "–"
    percent = round(100 * n / whole)
    if 0 < n < whole:
        percent = min(99, max(1, percent))
    return f"{percent}%"


def tone_of(wrong: int | Decimal, whole: int | Decimal) -> str:
    """The tone of a number of which this part went wrong, by `BANDS`; "" below them."""
    part = float(wrong / whole) if whole else float(wrong > 0)
    return next((tone for least, tone in BANDS if part >= least), "")


def _workers(look: Overview) -> Tile:
    load = look.load
    slots = counted(look.slots, "slot") if look.slots else "no worker"
    queued = capped(load.queued) if load.queued else "none"
    return Tile(
        "Running now",
        capped(load.running),
        f"{slots}, {queued} queued{_children(load.children, capped)}",
        "" if look.slots else "t-fail",
        oldest=load.oldest,
    )


def _hot_steps(look: Overview) -> Tile:
    """Steps of hot agents that are not in the database yet, against the lag that is an alarm."""
    name, least = "Not stored yet", f"alarm at {span(queries.lag_alarm_seconds())}"
    lags = look.hot_lags
    if lags is None:
        return Tile(name, "–", f"the hot store doesn’t answer; {least}", "t-fail")
    if not lags:
        return Tile(name, "0 steps", f"all hot steps are in the database; {least}")
    oldest = max(one.seconds for one in lags)
    return Tile(
        name,
        counted(sum(one.steps for one in lags), "step"),
        f"of {counted(sum(one.threads for one in lags), 'thread')}, oldest {span(oldest)}; {least}",
        "t-fail" if any(one.is_late for one in lags) else "",
    )


def _or_none(n: int) -> str:
    return number(n) if n else "none"


def _children(n: int, words: Callable[[int], str] = number) -> str:
    """The number of children, behind a number of threads that counts none of them."""
    return f"; + {words(n)} {'child' if n == 1 else 'children'}" if n else ""


def _without_success(failed: int, cancelled: int) -> str:
    """2 failed, 1 cancelled; what is nothing is left out."""
    parts = ((failed, "failed"), (cancelled, "cancelled"))
    return ", ".join(f"{number(n)} {word}" for n, word in parts if n) or "none failed"


def _trend(look: Overview, values: Sequence[float | None]) -> TimePlot | None:
    return over_time(look.period.labels, lines=[Series("", "run", values)], words=number)


def _money(value: Decimal | None) -> str:
    return "–" if value is None else money(value)
