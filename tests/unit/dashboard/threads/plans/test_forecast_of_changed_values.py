"""Random agents, forked and rolled back with random changes: what a forecast claims comes true.

The forecast may say "unknown until run" of any call. What it calls reused must be reused, and what
it calls again must be called again, at the same place, by the thread that then works.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.fork import preview_fork
from dashboard.threads.plans.expected_calls import Expected
from dashboard.threads.roll_back import preview_roll_back
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.code.registry import announce
from workers.node.context import Context, current

pytestmark = pytest.mark.django_db
CHANNELS = ("a", "b", "c", "d")
FATES = ("reused", "again", "maybe")
ATTEMPTS: Counter[str] = Counter()
ANSWERS = itertools.count()


class Values(State):
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    turn: int = 0


def measure(value: int) -> int:
    return value * 7 % 11


def tone(value: int) -> int:
    """Reads the configuration."""
    return len(str(current().config.get("tone", ""))) + value


def unsteady(mark: str, value: int) -> int:
    """Fails the first time that a thread asks it, so that its node goes another way."""
    ATTEMPTS[mark] += 1
    if ATTEMPTS[mark] % 2:
        raise ValueError("busy")
    return value


def answer(request: Request) -> Reply:
    # No two answers are alike, as with any model at a temperature.
    return Reply(f"{next(ANSWERS)}", request.model, 5, 5, "0.01")


@tool("forecast.send", idempotent=True)
def send(value: int, *, key: str) -> int:
    return next(ANSWERS)


@tool("forecast.once", idempotent=True, once=True)
def send_once(value: int, *, key: str) -> int:
    return next(ANSWERS)


KINDS = (
    *("measure", "measure", "tone", "model", "branch", "config", "unsteady"),
    *("closure", "random", "sleep", "send", "once", "record"),
)


def body(agent: int, name: str, parts: list[tuple[str, str]], writes: str) -> Callable[..., Any]:
    """A node that makes these calls with values of these channels."""

    def node(state: Values, ctx: Context) -> dict[str, Any]:
        total = 0
        for kind, channel in parts:
            value = getattr(state, channel)
            if kind == "measure":
                total += ctx.activity(measure, value)
            elif kind == "tone":
                total += ctx.activity(tone, value)
            elif kind == "model":
                total += int(ctx.model("How many?", value))
            elif kind == "branch":
                if value % 2:
                    break
            elif kind == "config":
                if ctx.config.get("tone") == "short":
                    break
            elif kind == "unsteady":
                try:
                    total += ctx.activity(unsteady, f"{agent} {name} {channel}", value)
                except ValueError:
                    total += 100
            elif kind == "closure":
                total += ctx.activity(lambda known=value: known + next(ANSWERS))
            elif kind == "random":
                total += int(ctx.random() * 100)
            elif kind == "sleep":
                ctx.sleep(0.0001)
            elif kind == "send":
                total += ctx.effect(send, {"value": value}).result
            elif kind == "once":
                total += ctx.effect(send_once, {"value": value}, gate=Gate("Send it?")).result
            elif kind == "record" and not ctx.recorded("journal", {"value": value}):
                ctx.record("journal", {"value": value}, value)
        return {writes: (total + state.turn) % 1000, "turn": state.turn + 1}

    return node


def made(dice: random.Random, number: int) -> Any:
    """A graph of a few nodes in a row or a loop, each with random calls."""
    graph = Graph(f"forecast-{number}", Values, model=answer)
    names = [f"n{i}" for i in range(dice.randrange(2, 5))]
    last = dice.randrange(2, 6)

    def leave(state: Values) -> str:
        return END if state.turn > last else names[state.a % len(names)]

    for name, following in zip(names, [*names[1:], leave], strict=True):
        kinds = dice.choice((KINDS[:4], KINDS[:6], ("measure", "send", "closure"), KINDS))
        parts = [(dice.choice(kinds), dice.choice(CHANNELS)) for _ in range(dice.randrange(1, 4))]
        node = body(number, name, parts, dice.choice(CHANNELS))
        node.__name__ = node.__qualname__ = name
        then: Any = following
        if following is leave:
            graph.node(then=then, ways=[*names, END])(node)
        else:
            graph.node(then=then)(node)
    tools = {send.name: send, send_once.name: send_once}
    return SimpleNamespace(graph=graph, TOOLS=tools, __name__=__name__, __file__=__file__)


def work(bench: Bench, thread: UUID) -> str:
    """Let it work; people approve what it asks, until it ends or stands still."""
    for _ in range(20):
        row = bench.advance(thread)
        if row.status == "waiting":
            bench.decide(thread, "approve")
        elif row.status not in ("queued", "sleeping"):
            break
    return str(bench.row(thread).status)


def compare(expected: Expected, bench: Bench, thread: UUID, branch: int) -> Counter[str]:
    """Hold each claim against the record of the thread that worked; how many of each held."""
    done = {
        (a.step, a.node, a.index, a.key): a
        for a in bench.activities(thread)
        if a.branch == branch and a.kind != "value"
    }
    counts: Counter[str] = Counter()
    for call in expected.calls:
        a = call.activity
        counts[call.fate] += 1
        if call.fate == "maybe":
            assert call.why
            continue
        record = done.get((a.step, a.node, a.index, a.key))
        what = f"{a.tool} at step {a.step} in {a.node}: {call.fate}, {call.why}"
        assert record is not None, f"{what}; it was not reached"
        reused = "reused_from" in (record.usage or {})
        assert reused == (call.fate == "reused"), f"{what}; in fact reused: {reused}"
    return counts


@pytest.mark.slow
def test_no_claim_of_a_forecast_is_wrong(cast: Cast) -> None:
    who, dice, counts = cast.actor("operator"), random.Random(5), Counter[str]()
    numbers = itertools.count()
    # What a node draws by ctx.random() differs from run to run, and with it how often each is seen.
    while (number := next(numbers)) < 40 or min(counts[fate] for fate in FATES) <= 20:
        assert number < 200, counts
        module = made(dice, number)
        bench = Bench(announce(module.graph, module.TOOLS, [module]), cast.workspace)
        start: dict[str, Any] = {name: dice.randrange(5) for name in CHANNELS}
        thread = bench.start(**start)
        work(bench, thread)
        if dice.random() < 0.3:
            bench.roll_back(thread, dice.randrange(bench.row(thread).number))
            bench.edit(thread, {"b": dice.randrange(50)}, "on second thought")
            bench.resume(thread)
            work(bench, thread)
        for _ in range(2):
            target = dice.choice(bench.checkpoints(thread))
            if target.source in ("rollback", "edit"):
                continue
            changes = dice.choice(({}, {dice.choice(CHANNELS): dice.randrange(5)}, {"turn": 0}))
            config = dice.choice(({}, {}, {"tone": "short"}, {"model": "large"}))
            plan = preview_fork(who, thread, target.id, changes, config)
            fork = fork_thread(who, thread, target.id, changes, effects="run", config=config)
            work(bench, fork)
            counts += compare(plan.expected, bench, fork, 0)
        row = bench.row(thread)
        path = queries.branch_ranges(thread, row.head)
        number = dice.choice([n for _, _, lo, hi, _ in path for n in range(lo, hi + 1)][1:] or [0])
        target = queries.checkpoint_by_number(thread, number)
        if target.id == row.head:
            continue
        plan_back = preview_roll_back(who, thread, target.id)
        bench.roll_back(thread, number)
        if bench.row(thread).status != "paused":
            continue
        bench.resume(thread)
        work(bench, thread)
        counts += compare(plan_back.expected, bench, thread, bench.row(thread).branch)
