"""An agent names its thread once it knows what it is about; a title that somebody gave stays."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from gatepost import END, Context, Graph, Harness, Respond, State, current
from tests.unit.workers.conftest import Bench, bench_of

EITHER = Bench
KNOWN, SECRET = "88 invoices, EUR 204,446.25", "hunter2-hunter2"


class Invoices(State):
    count: int = 0
    title: str = ""


graph = Graph("invoices", Invoices)
interruptions: list[Callable[[], object]] = []


def count_invoices() -> int:
    return 88


def interrupted() -> int:
    """Something else happens meanwhile."""
    while interruptions:
        interruptions.pop()()
    return 0


def log_in() -> int:
    return len(current().secret("SHOP_KEY"))


@graph.node(then="pay")
def read(state: Invoices, ctx: Context) -> dict[str, Any]:
    """Name the thread; somebody may rename it before the step is committed."""
    ctx.suggest_title("Invoices")
    count = ctx.activity(count_invoices)
    ctx.suggest_title(f"{count} invoices, EUR 204,446.25")
    ctx.activity(interrupted)
    return {"count": count, "title": ctx.thread_title}


@graph.node(then=END)
def pay(state: Invoices, ctx: Context) -> dict[str, Any]:
    """Name it as before, then ask; the node works a second time after the answer."""
    ctx.suggest_title(KNOWN)
    ctx.ask("Pay?")
    return {}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)


@pytest.fixture
def bench(make_bench: Callable[[Any], EITHER]) -> EITHER:
    return make_bench(MODULE)


def start(bench: EITHER, title: str = "") -> UUID:
    where: dict[str, Any] = {"workspace": bench.workspace, "actor": "user:1"}
    return store.start(bench.agent.version_id, input={}, title=title, **where)


def suggested(bench: EITHER, thread: UUID) -> list[str]:
    events = [event for event in bench.events(thread) if event.kind == "title.suggested"]
    assert {event.actor for event in events} <= {"worker:test"}
    return [event.data["title"] for event in events]


def test_a_thread_without_a_title_takes_what_its_agent_suggests_last(bench: EITHER) -> None:
    thread = start(bench)
    assert bench.row(thread).title == "invoices"
    assert bench.advance(thread).title == KNOWN
    assert bench.state(thread) == {"count": 88, "title": KNOWN}
    assert bench.open(thread).thread_title == KNOWN
    bench.decide(thread, "respond", "yes")
    row = bench.advance(thread)
    assert (row.status, row.title) == ("succeeded", KNOWN)
    assert suggested(bench, thread) == ["Invoices", KNOWN], "not again by the next step or attempt"
    assert bench.intact(thread)


@pytest.mark.parametrize("title", ["Mine", "invoices"])
def test_a_title_that_was_given_at_the_start_stays(bench: EITHER, title: str) -> None:
    thread = start(bench, title)
    assert bench.advance(thread).title == title
    assert suggested(bench, thread) == []


def test_forks_keep_their_title_and_a_rollback_that_of_the_thread(bench: EITHER) -> None:
    thread = start(bench)
    bench.advance(thread)
    fork = bench.fork(thread, 0, {})
    assert bench.advance(fork).title == f"{KNOWN} (fork)"
    assert suggested(bench, fork) == []
    bench.roll_back(thread, 0)
    bench.resume(thread)
    assert bench.advance(thread).title == KNOWN
    assert bench.intact(thread)
    assert bench.intact(fork)


@pytest.mark.requirement("C26")
@pytest.mark.parametrize("title", ["October", "invoices"])
@pytest.mark.django_db
def test_who_renames_a_thread_while_its_step_works_keeps_that_title(title: str) -> None:
    bench = bench_of(MODULE)
    thread = start(bench)
    interruptions.append(lambda: store.rename(thread, title=title, actor="user:2"))
    assert bench.advance(thread).title == title
    assert bench.intact(thread)
    bench.decide(thread, "respond", "yes")
    assert bench.advance(thread).title == title
    assert bench.intact(thread)


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("", "must not be empty"),
        (" \n", "must not be empty"),
        ("x" * 301, "at most 300 characters, not 301"),
        ("a\x00b", "cannot be kept"),
        (88, "must be text, not int"),
        (SECRET, "secret"),
    ],
)
def test_a_title_that_cannot_be_one_fails_the_step(
    title: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    one = Graph("one", Invoices)

    @one.node(then=END)
    def work(state: Invoices, ctx: Context) -> dict[str, Any]:
        ctx.activity(log_in)
        ctx.suggest_title(title)
        return {}

    thread = Harness(one).play()
    assert (thread.status, thread.title) == ("failed", "one")
    assert why in thread.reason
    assert SECRET not in thread.reason


def test_a_play_shows_the_title_and_keeps_one_that_it_was_given() -> None:
    assert Harness(graph).play(decide=Respond("yes")).title == KNOWN
    assert Harness(graph).play(title="Mine", decide=Respond("yes")).title == "Mine"
