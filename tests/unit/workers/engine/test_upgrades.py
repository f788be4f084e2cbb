"""Schemas move on: old states are led to the installed code's form, or a person is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from checkpoints.state.schema import Upgrades
from checkpoints.states import EventKind, Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from workers.authoring.graph import END, Append, Gate, Graph, State, Sum, tool
from workers.node.context import Context

pytestmark = pytest.mark.requirement("B39")

CALLS: list[str] = []


@pytest.fixture
def bench(make_bench: Any) -> Bench:
    CALLS.clear()
    made: Bench = make_bench(samples)
    return made


def erase(args: dict[str, Any], result: Any, *, key: str) -> None:
    Path(args["folder"], "note.txt").unlink(missing_ok=True)


@tool("note.write", undo=erase, idempotent=True)
def write(folder: str, text: str, *, key: str) -> str:
    CALLS.append("write")
    Path(folder, "note.txt").write_text(text)
    return text


class First(State):
    folder: str
    items: Annotated[list[str], Append()] = []
    out: str = ""


class Second(State):
    folder: str
    lines: Annotated[list[str], Append()] = []
    count: Annotated[int, Sum()] = 0
    out: str = ""


class Third(State):
    folder: str
    lines: dict[str, int] = {}
    count: Annotated[int, Sum()] = 0
    out: str = ""


upgrades = Upgrades()


@upgrades.step(1)
def to_second(state: dict[str, Any]) -> dict[str, Any]:
    items = state.pop("items")
    return {**state, "lines": items, "count": len(items)}


@upgrades.step(2)
def to_third(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "lines": {line: i for i, line in enumerate(state["lines"])}}


def look(name: str) -> str:
    CALLS.append("look")
    return name.upper()


def graph_of(version: int, **more: Any) -> Graph:
    """The agent as its author had it in the first, second and third version."""
    shape = {1: First, 2: Second, 3: Third}[version]
    graph = Graph("notes", shape, version=version, schema_version=version, **more)

    @graph.node(then="write")
    def gather(state: Any, ctx: Context) -> dict[str, Any]:
        activity = ctx.activity(look, "tea")
        if version == 1:
            return {"items": [activity]}
        if version == 2:
            return {"lines": [activity], "count": 1}
        return {"lines": {**state.lines, activity: 0}, "count": 1}

    @graph.node(then=END, gate=True)
    def write_it(state: Any, ctx: Context) -> dict[str, Any]:
        seen = ctx.activity(look, "before")
        done = ctx.effect(
            write, {"folder": state.folder, "text": f"{seen} TEA"}, gate=Gate("Write the note?")
        )
        return {"out": done.result}

    write_it.__name__ = "write"
    graph.nodes["write"] = graph.nodes.pop("write_it")
    object.__setattr__(graph.nodes["write"], "name", "write")
    return graph


def bench_of_version(bench: Bench, version: int, **more: Any) -> Bench:
    bench.install(graph_of(version, **more), {write.name: write}, samples)
    return bench


def test_a_thread_at_a_gate_goes_on_in_the_new_form_and_its_approval_stands(
    bench: Bench, tmp_path: Path
) -> None:
    bench_of_version(bench, 1)
    thread = bench.start(folder=str(tmp_path))
    assert bench.advance(thread).status is Status.WAITING
    calls = list(CALLS)
    bench_of_version(bench, 3, upgrades=upgrades)
    bench.decide(thread, "approve", "fine")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [*calls, "write"] == CALLS, "nothing is called again, and the effect happens once"
    assert (tmp_path / "note.txt").read_text() == "BEFORE TEA"
    state = bench.state(thread)
    assert state == {"folder": str(tmp_path), "lines": {"TEA": 0}, "count": 1, "out": "BEFORE TEA"}
    upgraded = [c for c in bench.checkpoints(thread) if c.source == "upgrade"]
    assert [(c.schema_version, c.step, c.next_nodes) for c in upgraded] == [(3, 1, ("write",))]
    assert bench.kinds(thread).count(EventKind.CODE_CHANGED) == 1
    assert bench.kinds(thread).count(EventKind.APPROVAL_REQUESTED) == 1
    assert bench.intact(thread)


def test_every_old_checkpoint_can_be_forked_and_rolled_back_to(
    bench: Bench, tmp_path: Path
) -> None:
    bench_of_version(bench, 1)
    thread = bench.start(folder=str(tmp_path))
    bench.advance(thread)
    bench_of_version(bench, 2, upgrades=upgrades)
    bench.decide(thread, "approve", "fine")
    bench.advance(thread)
    bench_of_version(bench, 3, upgrades=upgrades)
    back = bench.roll_back(thread, 1)
    assert back.status is Status.PAUSED
    assert not (tmp_path / "note.txt").exists()
    assert bench.state(thread)["items"] == ["TEA"], "history is not rewritten"
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["lines"] == {"TEA": 0}
    fork = bench.fork(thread, 0, {}, effects="run")
    assert bench.advance(fork).status is Status.WAITING
    assert bench.state(fork)["count"] == 1
    assert bench.intact(thread)
    assert bench.intact(fork)


def test_a_state_of_before_the_upgrade_is_edited_in_its_own_form(
    bench: Bench, tmp_path: Path
) -> None:
    bench_of_version(bench, 1)
    thread = bench.start(folder=str(tmp_path))
    bench.advance(thread)
    bench_of_version(bench, 3, upgrades=upgrades)
    bench.decide(thread, "approve", "fine")
    bench.advance(thread)
    bench.roll_back(thread, 1)
    old = bench.checkpoint(thread, 1)
    bench.edit(thread, {"items": ["MILK"]}, "No tea today.")
    head = bench.checkpoint(thread, bench.row(thread).number)
    assert (head.schema_version, head.agent_version_id) == (1, old.agent_version_id)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["lines"] == {"MILK": 0}
    assert bench.intact(thread)


@pytest.mark.parametrize(
    ("stored", "code", "more", "says"),
    [
        (1, 3, {}, "No upgrade from schema 1 to 2 is registered"),
        (3, 2, {"upgrades": upgrades}, "install the newer code first"),
    ],
    ids=["no way", "newer than the code"],
)
def test_without_a_way_a_person_is_asked_and_nothing_is_guessed(
    bench: Bench, tmp_path: Path, stored: int, code: int, more: dict[str, Any], says: str
) -> None:
    bench_of_version(bench, stored)
    thread = bench.start(folder=str(tmp_path))
    bench.advance(thread)
    before = bench.row(thread)
    bench.decide(thread, "approve", "fine")
    bench_of_version(bench, code, on_code_change="go_on", **more)
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert says in row.status_reason
    assert (row.head, row.agent_version_id) == (before.head, before.agent_version_id)
    assert EventKind.CODE_CHANGED not in bench.kinds(thread)
    # The code that knows the state is installed again: it goes on where it stopped.
    bench_of_version(bench, stored)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert CALLS.count("write") == 1


def test_an_upgrade_that_fails_or_does_not_fit_stops_the_thread(
    bench: Bench, tmp_path: Path
) -> None:
    broken, unfit = Upgrades(), Upgrades()

    @broken.step(1)
    def raises(state: dict[str, Any]) -> dict[str, Any]:
        return {"lines": state["no such channel"]}

    @unfit.step(1)
    def misses(state: dict[str, Any]) -> dict[str, Any]:
        return {"folder": state["folder"], "lines": 7, "count": 0, "out": ""}

    for upgrades, says in ((broken, "KeyError: 'no such channel'"), (unfit, "does not fit")):
        bench_of_version(bench, 1)
        thread = bench.start(folder=str(tmp_path))
        bench.advance(thread)
        head = bench.row(thread).head
        bench.decide(thread, "approve", "fine")
        bench_of_version(bench, 2, upgrades=upgrades)
        row = bench.advance(thread)
        assert row.status is Status.ATTENTION
        assert says in row.status_reason
        assert row.head == head
    assert "write" not in CALLS


@pytest.mark.slow
def test_other_code_of_the_same_schema_waits_for_a_word(bench: Bench, tmp_path: Path) -> None:
    bench_of_version(bench, 1)
    thread = bench.start(folder=str(tmp_path))
    bench.advance(thread)
    before = bench.row(thread)
    bench.decide(thread, "approve", "fine")
    bench.install(graph_of(1), {write.name: write}, samples, pytest)
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert "code of 'notes' changed" in row.status_reason
    assert row.agent_version_id == before.agent_version_id
    assert "write" not in CALLS
    bench.install(graph_of(1, on_code_change="go_on"), {write.name: write}, pytest)
    bench.retry(thread)
    row = bench.advance(thread)
    assert EventKind.CODE_CHANGED in bench.kinds(thread)
    assert row.status is Status.WAITING, "what was approved was other code's proposal"
    assert "write" not in CALLS
