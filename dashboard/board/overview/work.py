"""Figures of work: what threads became of, what people decided and how long that took."""

from __future__ import annotations

from typing import Final

from dashboard.html.charts.over_time import Series, over_time
from dashboard.html.charts.ranks import ranks
from dashboard.wording.text import number, span

from .figure import Column, Figure
from .reads import NOTHING, Overview

TIME: Final = Column("at", "Time (UTC)", "time")
CHILDREN: Final = Column("children", "Children")
AGENT: Final = Column("agent", "Agent", "text")
ENDS: Final = (("succeeded", "done"), ("failed", "fail"), ("cancelled", "idle"))
VERDICTS: Final = (
    ("approve", "approved", "done"),
    ("edit", "approved with edits", "run"),
    ("reject", "rejected", "fail"),
    ("respond", "answered", "wait"),
    ("take_back", "undone", "idle"),
)


def throughput(look: Overview) -> Figure:
    """Threads started and ended over time."""
    names = ("started", *(name for name, _ in ENDS))
    rows = look.by_time(*names, "child_started")
    counts = {name: [sums[name].n for _, sums in rows] for name in names}
    return Figure(
        "throughput",
        "Threads",
        "Started threads count at their start, ended ones at their end, by their current status: "
        "a thread that failed and was retried no longer counts as failed. Children, which other "
        "threads started, are counted separately.",
        (TIME, *(Column(name, name.capitalize()) for name in names), CHILDREN),
        tuple(
            (at, *(sums[name].n for name in names), sums["child_started"].n) for at, sums in rows
        ),
        plot=over_time(
            look.period.labels,
            bars=[Series(name, tone, counts[name]) for name, tone in ENDS],
            lines=[Series("started", "run", counts["started"])],
            words=number,
        ),
        hours=look.period.unit == "hour",
    )


def waiting(look: Overview) -> Figure:
    """Time that requests waited for people."""
    rows = [(at, look.decided.waits.get(at)) for at in look.period.times]
    return Figure(
        "waiting",
        "Waiting for people",
        "Time from a request to each verdict, shown at the time of the verdict: the median and the "
        "90th percentile. Answers to questions and verdicts of scripts and API tokens aren't "
        "included.",
        (
            TIME,
            Column("decisions", "Decisions"),
            Column("median_seconds", "Median", "seconds"),
            Column("p90_seconds", "90 %", "seconds"),
        ),
        tuple((at, row.n, row.median, row.p90) if row else (at, 0, None, None) for at, row in rows),
        plot=over_time(
            look.period.labels,
            lines=[
                Series("median", "wait", [row.median if row else None for _, row in rows]),
                Series("90 %", "stuck", [row.p90 if row else None for _, row in rows]),
            ],
            words=span,
        ),
        hours=look.period.unit == "hour",
    )


def decisions(look: Overview) -> Figure:
    """Verdicts of people."""
    counts = look.decided.verdicts
    times = look.period.times
    return Figure(
        "decisions",
        "Decisions",
        "Verdicts of people over time, with answers to questions and undone verdicts.",
        (TIME, *(Column(verdict, words.capitalize()) for verdict, words, _ in VERDICTS)),
        tuple((at, *(counts.get((at, verdict), 0) for verdict, _, _ in VERDICTS)) for at in times),
        plot=over_time(
            look.period.labels,
            bars=[
                Series(words, tone, [counts.get((at, verdict), 0) for at in times])
                for verdict, words, tone in VERDICTS
            ],
            words=number,
        ),
        hours=look.period.unit == "hour",
    )


def failures(look: Overview) -> Figure:
    """Failures by agent and node."""
    sums = look.sums(lambda row: (row.agent, row.name), ["failed", "child_failed"])
    rows = sorted(
        (
            (
                agent,
                node,
                one["failed"].n,
                one["child_failed"].n,
                one["failed"].cost + one["child_failed"].cost,
            )
            for (agent, node), one in sums.items()
        ),
        key=lambda row: (-row[2], -row[3], row[0], row[1]),
    )
    return Figure(
        "failures",
        "Failures by agent and node",
        "Threads that failed in this period and are still failed, by their next node.",
        (
            AGENT,
            Column("node", "Node", "text"),
            Column("failed", "Failed"),
            CHILDREN,
            Column("cost", "Cost", "money"),
        ),
        tuple(rows),
        ranks=ranks(
            [(f"{agent} · {node or '–'}", (n, below)) for agent, node, n, below, _ in rows],
            kinds=[("failed", "fail"), ("children", "idle")],
            words=number,
        ),
    )


def reviewers(look: Overview) -> Figure:
    """Load of approvals by reviewer."""
    rows = [
        (look.people.get(person, name), waits.n, waits.median, waits.p90)
        for person, name, waits in look.decided.reviewers
    ]
    return Figure(
        "reviewers",
        "Approval load by reviewer",
        "Verdicts of each reviewer, and how long the requests waited, without those of scripts and "
        "API tokens.",
        (
            Column("reviewer", "Reviewer", "text"),
            Column("decisions", "Decisions"),
            Column("median_seconds", "Median", "seconds"),
            Column("p90_seconds", "90 %", "seconds"),
        ),
        tuple(rows),
        ranks=ranks(
            [(name, (n,)) for name, n, *_ in rows], kinds=[("decisions", "wait")], words=number
        ),
    )


def saved(look: Overview) -> Figure:
    """Work that resuming from the record spared."""
    rows = look.by_time("saved")
    return Figure(
        "saved",
        "Tokens saved by resuming",
        "Recorded work that was not repeated when a thread continued after a lost worker or a "
        "retry.",
        (
            TIME,
            Column("resumes", "Resumes"),
            Column("tokens", "Tokens"),
            Column("cost", "Cost", "money"),
        ),
        tuple(
            (at, sums["saved"].n, sums["saved"].tokens, sums["saved"].cost or NOTHING)
            for at, sums in rows
        ),
        plot=over_time(
            look.period.labels,
            bars=[Series("tokens", "done", [sums["saved"].tokens for _, sums in rows])],
            words=number,
        ),
        hours=look.period.unit == "hour",
    )
