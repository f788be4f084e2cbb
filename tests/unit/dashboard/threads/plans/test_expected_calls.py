"""What previews of forks and rollbacks say about recorded calls, and what then comes true."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from checkpoints import queries
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.fork import preview_fork
from dashboard.threads.plans.expected_calls import Expected
from dashboard.threads.roll_back import preview_roll_back
from tests.support.cast import Cast
from tests.unit.dashboard.calls import post
from tests.unit.workers.conftest import Bench
from tests.unit.workers.node.test_reuse import CALLS, CONFIG, MODULE, _no_calls  # noqa: F401
from workers.authoring.graph import END, Graph, State
from workers.code.registry import announce
from workers.node.context import Context


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(MODULE.graph, MODULE.TOOLS, [MODULE]), cast.workspace)


@pytest.fixture
def base(bench: Bench) -> UUID:
    """A thread that went to its end: three pure calls and an effect."""
    thread = bench.start(config=CONFIG)
    bench.advance(thread)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status == "succeeded"
    CALLS.clear()
    return thread


def fates(expected: Expected) -> dict[str, str]:
    return {call.activity.tool: call.fate for call in expected.calls}


def first(thread: UUID) -> UUID:
    return queries.checkpoint_by_number(thread, 0).id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "config", "expected_fates", "tokens"),
    [
        ({}, {}, ["reused", "reused", "reused", "again"], (42, 0, 0)),
        ({"goal": "ink"}, {}, ["maybe", "maybe", "maybe", "maybe"], (0, 42, 0)),
        ({"goal": "tea"}, {}, ["reused", "reused", "reused", "again"], (42, 0, 0)),
        ({}, {"model": "large"}, ["maybe", "maybe", "maybe", "maybe"], (0, 42, 0)),
        ({}, {"temperature": 0.9}, ["maybe", "maybe", "maybe", "maybe"], (0, 42, 0)),
        ({}, {"prompts": {"sum": "Short."}}, ["maybe", "maybe", "maybe", "maybe"], (0, 42, 0)),
        ({}, {"colour": "red"}, ["maybe", "maybe", "maybe", "maybe"], (0, 42, 0)),
    ],
)
def test_what_a_fork_is_told_comes_true(
    cast: Cast,
    bench: Bench,
    base: UUID,
    changes: dict[str, Any],
    config: dict[str, Any],
    expected_fates: list[str],
    tokens: tuple[int, int, int],
) -> None:
    who = cast.actor("operator")
    plan = preview_fork(who, base, first(base), changes, config)
    expected = plan.expected
    tools = ("load", "tone_of", "model", "reuse.send")
    assert fates(expected) == dict(zip(tools, expected_fates, strict=True))
    assert tuple(expected.tokens(f) for f in ("reused", "maybe", "again")) == tokens
    assert plan.first_effect == "reuse.send"
    assert CALLS == [], "nobody works the agent to find out"

    fork = fork_thread(who, base, first(base), changes, config=config)
    row = bench.advance(fork)
    assert row.status == "waiting"
    done = {a.tool: "reused_from" in (a.usage or {}) for a in bench.activities(fork)}
    for tool, reused in done.items():
        fate = fates(expected)[tool]
        assert fate == "maybe" or (fate == "reused") == reused, tool
    assert expected.tokens("again") <= row.tokens
    assert row.tokens <= expected.tokens("again") + expected.tokens("maybe")


def test_what_a_rollback_is_told_comes_true(cast: Cast, bench: Bench, base: UUID) -> None:
    who = cast.actor("manager")
    plan = preview_roll_back(who, base, first(base))
    assert fates(plan.expected) == {
        "load": "reused",
        "tone_of": "reused",
        "model": "reused",
        "reuse.send": "again",
    }
    later = preview_roll_back(who, base, queries.checkpoint_by_number(base, 1).id)
    assert fates(later.expected) == {"model": "reused", "reuse.send": "again"}
    bench.roll_back(base, 0)
    bench.resume(base)
    assert bench.advance(base).status == "waiting"
    assert CALLS == []
    # And once more, over both branches.
    again = preview_roll_back(who, base, queries.checkpoint_by_number(base, 5).id)
    assert fates(again.expected) == {"model": "reused"}


def test_what_other_code_recorded_is_called_again(cast: Cast, bench: Bench, base: UUID) -> None:
    bench.install(MODULE.graph, MODULE.TOOLS, SimpleNamespace(__name__="changed", __file__=None))
    plan = preview_fork(cast.actor("operator"), base, first(base))
    assert set(fates(plan.expected).values()) == {"maybe"}
    why = "the agent's code has changed since"
    effect = f"{why}; if it is reached, it is called: effects are never reused"
    assert {call.why for call in plan.expected.calls} == {why, effect}


def test_after_an_edit_or_a_decision_nothing_is_certain(
    cast: Cast, bench: Bench, base: UUID
) -> None:
    thread = bench.start(config=CONFIG)
    bench.advance(thread)
    bench.edit(thread, {"goal": "ink"}, "on second thought")
    bench.resume(thread)
    bench.advance(thread)
    plan = preview_fork(cast.actor("operator"), thread, first(thread))
    assert fates(plan.expected)["load"] == "reused"
    bench.roll_back(thread, 0)
    bench.edit(thread, {"goal": "coffee"}, "on third thought")
    bench.resume(thread)
    bench.advance(thread)
    number = bench.row(thread).number
    rolled = next(
        c for c in queries.checkpoints(thread).rows if c.source == "rollback" and c.number < number
    )
    plan = preview_fork(cast.actor("operator"), thread, rolled.id)
    assert set(fates(plan.expected).values()) == {"maybe"}
    why = "people's values joined the state before it"
    assert {call.why.partition(";")[0] for call in plan.expected.calls} == {why}


class Halves(State):
    goal: str = "tea"
    size: int = 0


halves = Graph("halves", Halves)


@halves.node(then=END)
def half(state: Halves, ctx: Context) -> dict[str, int]:
    size = ctx.activity(size_of, state.goal)
    if state.goal == "tea":
        raise ValueError("no tea")
    return {"size": size + ctx.activity(size_of, "the rest")}


def size_of(text: str) -> int:
    return len(text)


def test_an_edit_says_what_is_unknown_of_the_step_in_progress(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finished calls of a step that failed answer for the same input only."""
    bench = Bench(
        announce(halves, {}, [SimpleNamespace(__name__=__name__, __file__=__file__)]),
        cast.workspace,
    )
    thread = bench.start()
    assert bench.advance(thread).status == "failed"
    operator: Client = cast.client("operator")
    ask = {"changes": {"goal": "ink"}, "reason": "no tea"}
    payload = post(operator, f"/threads/{thread}/edit/?preview=1", ask).json()
    assert (payload["reused"], payload["maybe"], payload["again"]) == (0, 1, 0)
    assert payload["calls"][0]["why"] == "the state has other values"
    form = {
        "checkpoint": str(bench.row(thread).head),
        "version": bench.row(thread).version,
        "act": "preview",
        "f-goal": "ink",
        "f-size": "0",
    }
    page = operator.post(f"/threads/{thread}/edit/", form).content.decode()
    assert "Forecast for these values" in page
    assert "none reused" not in page
    assert "1 unknown until run" in page
    call_command("threads", "edit", str(thread), "--set", "goal=ink", "--preview")
    assert "unknown until run" in capsys.readouterr().out
    same = post(operator, f"/threads/{thread}/edit/?preview=1", {"changes": {"goal": "tea"}})
    assert same.json()["maybe"] == 0
    # What it did: the one call of the record was made again, with the other input.
    bench.edit(thread, {"goal": "ink"}, "no tea")
    bench.retry(thread)
    assert bench.advance(thread).status == "succeeded"


class Sums(State):
    total: int = 0


sums = Graph("sums", Sums)
families = Graph("families", Sums)


@sums.node(then=END)
def add(state: Sums, ctx: Context) -> dict[str, int]:
    return {"total": ctx.activity(size_of, "four")}


@families.node(then=END)
def ask_child(state: Sums, ctx: Context) -> dict[str, int]:
    before = ctx.activity(size_of, "before")
    ctx.spawn("sums", {})
    return {"total": before + ctx.activity(size_of, "after")}


def test_children_start_anew(cast: Cast) -> None:
    code = [SimpleNamespace(__name__=__name__, __file__=__file__)]
    announce(sums, {}, code)
    bench = Bench(announce(families, {}, code), cast.workspace)
    thread = bench.start()
    assert bench.advance(thread).status == "succeeded"
    plan = preview_fork(cast.actor("operator"), thread, first(thread))
    by_order = [(call.activity.tool, call.fate) for call in plan.expected.calls]
    assert by_order == [("size_of", "reused"), ("spawn", "again"), ("size_of", "maybe")]
    fork = bench.fork(thread, 0, {})
    assert bench.advance(fork).status == "succeeded"
    [spawned] = [a for a in bench.activities(fork) if a.tool == "spawn"]
    assert "reused_from" not in (spawned.usage or {})


def test_the_entries_tell_it(
    cast: Cast, bench: Bench, base: UUID, capsys: pytest.CaptureFixture[str]
) -> None:
    operator: Client = cast.client("operator")
    ask = {"checkpoint": str(first(base)), "config": {"model": "large"}}
    payload = post(operator, f"/threads/{base}/fork/?preview=1", ask).json()
    assert (payload["reused"], payload["maybe"], payload["again"]) == (0, 4, 0)
    assert (payload["tokens"], payload["tokens_maybe"], payload["cost_maybe"]) == (0, 42, "0.25")
    assert [c["tool"] for c in payload["calls"]] == ["load", "tone_of", "model", "reuse.send"]
    assert payload["calls"][2]["why"].endswith("called: the configuration has another model")
    page = operator.get(f"/threads/{base}/fork/?checkpoint={first(base)}").content.decode()
    assert "3 reused, 1 called again" in page
    assert "42 tokens" in page
    manager: Client = cast.client("manager")
    ask = {"checkpoint": str(first(base)), "reason": "look", "compensate": True}
    payload = post(manager, f"/threads/{base}/rollback/?preview=1", ask).json()
    assert (payload["reused"], payload["again"], payload["cost_reused"]) == (3, 1, "0.25")
    page = manager.get(f"/threads/{base}/rollback/?checkpoint={first(base)}").content.decode()
    assert "When it resumes from there" in page
    assert "3 reused, 1 called again" in page
    call_command("threads", "fork", str(base), "--checkpoint", "0", "--preview")
    assert "3 recorded calls, 42 tokens, $0.25" in capsys.readouterr().out


def test_the_page_says_what_was_reused(cast: Cast, bench: Bench, base: UUID) -> None:
    fork = bench.fork(base, 0, {})
    bench.advance(fork)
    page = cast.client("operator").get(f"/threads/{fork}/").content.decode()
    assert page.count('<span class="muted xs nowrap">reused</span>') == 3
    assert "model done in write, small, reused, not called again, 42 tokens saved" in page
