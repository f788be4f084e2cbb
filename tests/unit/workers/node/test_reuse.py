"""Forks and rollbacks reuse pure results, threads share cached ones; on the store and in memory."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, current
from workers.testing.harness import Harness

EITHER = Bench
CALLS: list[str] = []
KINDS = ("activity.finished", "model.answered")
CONFIG = {"model": "small", "temperature": 0.2, "prompts": {"sum": "Sum up."}}


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


class Work(State):
    goal: str = "tea"
    rows: list[int] = []
    tone: str = ""
    text: str = ""
    sent: str = ""


def load(goal: str) -> list[int]:
    CALLS.append(f"load {goal}")
    return [len(goal), 1]


def tone_of(rows: list[int]) -> str:
    CALLS.append("tone_of")
    return str(current().config.get("prompts", {}).get("sum", ""))


def answer(request: Request) -> Reply:
    CALLS.append(f"model {request.model} {request.temperature}")
    return Reply(f"{request.parts[0]}: ok", request.model, 30, 12, "0.25")


@tool("reuse.send", idempotent=True)
def send(text: str, *, key: str) -> str:
    CALLS.append("send")
    return f"sent {text}"


graph = Graph("reusing", Work, model=answer)


@graph.node(then="write")
def gather(state: Work, ctx: Context) -> dict[str, Any]:
    rows = ctx.activity(load, state.goal)
    return {"rows": rows, "tone": ctx.activity(tone_of, rows)}


@graph.node(then="send_it")
def write(state: Work, ctx: Context) -> dict[str, Any]:
    prompt = ctx.config.get("prompts", {}).get("sum", "Sum up.")
    return {"text": ctx.model(prompt, list(state.rows))}


@graph.node(then=END, gate=True)
def send_it(state: Work, ctx: Context) -> dict[str, Any]:
    return {"sent": ctx.effect(send, {"text": state.text}, gate=Gate("Send it?")).result}


MODULE = SimpleNamespace(graph=graph, TOOLS={send.name: send}, __name__=__name__, __file__=__file__)
PURE = ["load tea", "tone_of", "model small 0.2"]


@pytest.fixture
def bench(make_bench: Callable[[Any], EITHER]) -> EITHER:
    return make_bench(MODULE)


@pytest.fixture
def base(bench: EITHER) -> Any:
    """A thread that waits at its gate, with three calls paid for."""
    thread = bench.start(config=CONFIG)
    assert bench.advance(thread).status == "waiting"
    assert CALLS == PURE
    CALLS.clear()
    return thread


def usages(bench: EITHER, thread: Any, branch: int = 0) -> dict[str, dict[str, Any]]:
    return {
        a.tool: {k: v for k, v in (a.usage or {}).items() if k not in ("milliseconds", "config")}
        for a in bench.activities(thread)
        if a.branch == branch and a.kind != "effect"
    }


def ids(bench: EITHER, thread: Any) -> dict[str, str]:
    return {a.tool: str(a.id) for a in bench.activities(thread)}


def test_a_fork_calls_nothing_that_is_asked_the_same(bench: EITHER, base: Any) -> None:
    fork = bench.fork(base, 0, {}, effects="run")
    row = bench.advance(fork)
    assert (CALLS, row.status) == ([], "waiting")
    known = ids(bench, base)
    assert usages(bench, fork) == {
        "load": {"reused_from": known["load"]},
        "tone_of": {"reused_from": known["tone_of"]},
        "model": {
            "reused_from": known["model"],
            "model": "small",
            "reused_tokens": 42,
            "reused_cost": "0.25",
        },
    }
    assert (row.tokens, row.cost) == (0, "0")
    assert bench.state(fork) == bench.state(base)
    finished = [e for e in bench.events(fork) if e.kind in KINDS]
    assert [e.kind for e in finished] == [KINDS[0], KINDS[0], KINDS[1]]
    assert [e.data["usage"]["reused_from"] for e in finished] == list(known.values())[:3]
    assert bench.intact(fork)
    # A fork of the fork: what was saved once is saved again, and the nearest record is named.
    second = bench.fork(fork, 0, {})
    assert bench.advance(second).status == "waiting"
    assert CALLS == []
    assert usages(bench, second)["model"]["reused_from"] == ids(bench, fork)["model"]
    assert usages(bench, second)["model"]["reused_tokens"] == 42
    # Effects are never reused.
    bench.decide(fork, "approve")
    assert bench.advance(fork).status == "succeeded"
    assert CALLS == ["send"]


def test_other_input_is_asked_again_and_what_is_the_same_after_it_is_not(
    bench: EITHER, base: Any
) -> None:
    fork = bench.fork(base, 0, {"goal": "ink"})  # as many letters: the rows come out the same
    assert bench.advance(fork).status == "waiting"
    assert CALLS == ["load ink"]
    assert set(usages(bench, fork)["load"]) == set()
    CALLS.clear()
    other = bench.fork(base, 0, {"goal": "coffee"})
    assert bench.advance(other).status == "waiting"
    assert CALLS == ["load coffee", "tone_of", "model small 0.2"]


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({"model": "large"}, ["tone_of", "model large 0.2"]),
        ({"temperature": 0.9}, ["tone_of", "model small 0.9"]),
        ({"prompts": {"sum": "In one line."}}, ["tone_of", "model small 0.2"]),
        ({"colour": "red"}, ["tone_of"]),
        ({"model": "small"}, []),
    ],
)
def test_another_configuration_asks_again_whatever_rests_on_it(
    bench: EITHER, base: Any, changes: dict[str, Any], calls: list[str]
) -> None:
    fork = bench.fork(base, 0, {}, config=changes)
    assert bench.advance(fork).status == "waiting"
    assert calls == CALLS


@pytest.mark.requirement("C18")
def test_a_rollback_reuses_what_it_left_behind(bench: EITHER, base: Any) -> None:
    bench.roll_back(base, 0)
    bench.resume(base)
    assert bench.advance(base).status == "waiting"
    assert CALLS == []
    first = {a.tool: str(a.id) for a in bench.activities(base) if a.branch == 0}
    assert usages(bench, base, 1)["model"]["reused_from"] == first["model"]
    assert bench.row(base).tokens == 42  # spent once
    assert bench.intact(base)
    # Once more, now with an effect that was done: it asks before it happens again.
    bench.decide(base, "approve")
    assert bench.advance(base).status == "succeeded"
    bench.roll_back(base, 0)
    bench.edit(base, {"goal": "ink"}, "other input")
    bench.resume(base)
    assert bench.advance(base).status == "waiting"
    assert CALLS == ["send", "load ink"]


def test_a_late_result_of_the_base_never_appears_in_a_fork(bench: EITHER) -> None:
    stop = [False]
    bench.stopping = lambda: stop[0]
    base = bench.start(config=CONFIG)
    fork = bench.fork(base, 0, {})
    assert bench.advance(base).status == "waiting"
    assert bench.advance(fork).status == "waiting"
    assert CALLS == PURE * 2
    assert "reused_from" not in usages(bench, fork)["model"]


def test_other_code_reuses_nothing(bench: EITHER, base: Any) -> None:
    changed = SimpleNamespace(__name__=f"{__name__}.changed", __file__=None)
    bench.install(graph, MODULE.TOOLS, changed)
    fork = bench.fork(base, 0, {})
    assert bench.advance(fork).status == "attention"
    bench.retry(fork)
    assert bench.advance(fork).status == "waiting"
    assert CALLS == PURE
    CALLS.clear()
    # What the new code recorded it reuses: in a rollback, once the thread began anew with it.
    bench.roll_back(base, 1)
    bench.resume(base)
    assert bench.advance(base).status == "attention"
    bench.retry(base)
    assert bench.advance(base).status == "waiting"
    assert CALLS == ["model small 0.2"]


@pytest.mark.slow
def test_a_fork_reuses_step_by_step_and_killed_nothing_twice() -> None:
    calls = []
    for n in range(1, 25):
        harness = Harness(graph)
        base = harness.play(config=CONFIG)
        harness._stop_after = n
        CALLS.clear()
        fork = base.fork(0, {"goal": "ink"})
        assert fork.status == "waiting"
        assert fork.verify()
        calls.append(list(CALLS))
    assert all(c == ["load ink"] for c in calls)


# ---- the result cache ----


class Shared(State):
    goal: str = "tea"
    price: Any = None
    text: str = ""
    seconds: Any = 60


def price(goal: str) -> int:
    CALLS.append(f"price {goal}")
    if goal == "nothing":
        raise LookupError("no such thing")
    return len(goal)


shared = Graph("sharing-one", Shared, model=answer)


@shared.node(then=END)
def ask(state: Shared, ctx: Context) -> dict[str, Any]:
    activity = ctx.activity(price, state.goal, cached=state.seconds)
    return {"price": activity, "text": ctx.model(state.goal, cached=state.seconds)}


SHARED = SimpleNamespace(graph=shared, __name__=__name__, __file__=__file__)


@pytest.fixture
def sharing(make_bench: Callable[[Any], EITHER]) -> EITHER:
    from django.core.cache import caches

    bench = make_bench(SHARED)
    if isinstance(bench, Bench):
        caches["results"].clear()
    return bench


@pytest.mark.requirement("A13")
def test_a_cached_result_serves_other_threads_and_is_recorded_in_each(sharing: EITHER) -> None:
    first, second = sharing.start(), sharing.start()
    assert sharing.advance(first).status == "succeeded"
    assert CALLS == ["price tea", "model  None"]
    row = sharing.advance(second)
    assert len(CALLS) == 2
    assert (row.status, row.tokens, row.cost) == ("succeeded", 0, "0")
    assert sharing.state(second) == sharing.state(first)
    assert usages(sharing, second) == {
        "price": {"from_cache": True},
        "model": {"from_cache": True, "reused_tokens": 42, "reused_cost": "0.25"},
    }
    assert sharing.intact(second)
    other = sharing.start(goal="ink")
    assert sharing.advance(other).status == "succeeded"
    assert CALLS[2:] == ["price ink", "model  None"]
    # Another configuration is another question.
    warm = sharing.start(config={"temperature": 0.9})
    assert sharing.advance(warm).status == "succeeded"
    assert CALLS[4:] == ["price tea", "model  0.9"]


def test_a_cached_result_ends_with_its_time(sharing: EITHER) -> None:
    for _ in range(2):
        thread = sharing.start(seconds=0.2)
        assert sharing.advance(thread).status == "succeeded"
        sharing.pass_time(0.3)
    assert CALLS == ["price tea", "model  None"] * 2


def test_other_code_has_other_results(sharing: EITHER) -> None:
    assert sharing.advance(sharing.start()).status == "succeeded"
    changed = SimpleNamespace(__name__=f"{__name__}.changed", __file__=None)
    sharing.install(shared, {}, changed)
    assert sharing.advance(sharing.start()).status == "succeeded"
    assert CALLS == ["price tea", "model  None"] * 2


def test_an_error_is_not_cached(sharing: EITHER) -> None:
    for _ in range(2):
        assert sharing.advance(sharing.start(goal="nothing")).status == "failed"
    assert CALLS == ["price nothing"] * 2


@pytest.mark.parametrize("seconds", [0, -1, "60", True, float("nan"), float("inf")])
def test_what_no_time_is(seconds: Any) -> None:
    one = Graph("one", Shared)

    @one.node(then=END)
    def ask(state: Shared, ctx: Context) -> dict[str, Any]:
        return {"price": ctx.activity(price, "tea", cached=seconds)}

    thread = Harness(one).play()
    assert thread.status == "failed"
    assert "cached= takes" in thread.reason
    assert CALLS == []


def test_what_knows_more_than_its_arguments_is_not_cached() -> None:
    one = Graph("one", Shared)

    @one.node(then=END)
    def ask(state: Shared, ctx: Context) -> dict[str, Any]:
        return {"price": ctx.activity(lambda: state.goal, cached=60)}

    thread = Harness(one).play()
    assert thread.status == "failed"
    assert "declare it at the top of its module" in thread.reason


def test_what_may_know_more_than_its_arguments_is_called_again_by_a_fork() -> None:
    one = Graph("knowing", Work)

    class Shop:
        def price(self, goal: str) -> str:
            CALLS.append("method")
            return goal

    shop = Shop()
    seen: list[str] = []

    def whole(goal: str) -> str:
        CALLS.append("whole")
        seen.append(goal)  # not the state, but who could tell
        return goal

    @one.node(then=END)
    def ask(state: Work, ctx: Context) -> dict[str, Any]:
        goal, lengths = state.goal, len

        def over_the_state() -> str:
            CALLS.append("over the state")
            return goal

        def by_default(wanted: str = state.goal) -> str:
            CALLS.append("by default")
            return wanted

        def over_the_context(wanted: str) -> int:
            CALLS.append("over the context")
            ctx.artifact("a.txt", wanted.encode(), "text/plain")
            return lengths(wanted)

        def over_another(wanted: str) -> str:
            CALLS.append("over another")
            return over_the_state() + wanted

        def of_the_thread(wanted: str) -> str:
            CALLS.append("of the thread")
            return f"{ctx.thread_title} {wanted}"

        ctx.activity(over_the_state)
        ctx.activity(by_default)
        ctx.activity(over_the_context, "x")
        ctx.activity(over_another, "x")
        ctx.activity(of_the_thread, "x")
        ctx.activity(shop.price, "x")
        ctx.activity(whole, "x")
        return {"text": ctx.activity(over_the_state, key="last")}

    base = Harness(one).play()
    assert base.state["text"] == "tea"
    CALLS.clear()
    fork = base.fork(0, {"goal": "ink"})
    assert fork.state["text"] == "ink"
    assert "over the context" not in CALLS
    assert CALLS == [
        "over the state",
        "by default",
        "over another",
        "over the state",
        "of the thread",
        "method",
        "whole",
        "over the state",
    ]
    payload = {a.tool: (a.usage or {}).get("knows_more", False) for a in base.activities}
    assert payload == {
        "over_the_state": True,
        "by_default": True,
        "over_the_context": False,
        "over_another": True,
        "of_the_thread": True,
        "price": True,
        "whole": True,
    }


def test_a_stand_in_is_cached_like_what_it_stands_for() -> None:
    seen: list[str] = []
    harness = Harness(shared, tools={"price": lambda goal: seen.append(goal) or 5})
    for _ in range(2):
        assert harness.play(model=lambda request: "fine").state["price"] == 5
    assert seen == ["tea"]


@pytest.mark.requirement("A13")
def test_without_its_cache_a_thread_only_calls(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.workers.conftest import bench_of
    from workers.step import result_cache

    def away(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("nobody there")

    bench = bench_of(SHARED)
    cache = result_cache.caches[result_cache.ALIAS]
    monkeypatch.setattr(cache, "get", away)
    monkeypatch.setattr(cache, "set", away)
    for _ in range(2):
        assert bench.advance(bench.start()).status == "succeeded"
    assert CALLS == ["price tea", "model  None"] * 2
