"""A capsule is a tape: the engine works on it as it worked then, and nothing is called."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkpoints.capsules import layout
from checkpoints.errors import InvalidValue, NotAllowedNow
from dashboard.threads.capsules.exports import capsule_of
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Gate, Graph
from workers.node.context import Context
from workers.testing.harness import Approve, Harness, NotOnTape, Played

from . import taped

pytestmark = pytest.mark.django_db
PAGE = Path(__file__).resolve().parents[4] / "docs" / "howto" / "capsule.md"


def capsule(bench: Bench, thread: UUID, to: Path) -> Path:
    written = capsule_of(bench.row(thread), None)
    to.write_bytes(b"".join(written.chunks()))
    return to


@pytest.fixture
def bench(db: None) -> Bench:
    taped.calls.clear()
    return bench_of(taped)


@pytest.fixture
def lived(bench: Bench) -> UUID:
    """A thread that has answered, edited and done everything."""
    thread = bench.start(to="Oslo")
    bench.advance(thread)
    bench.decide(thread, "respond", args="Central")
    bench.advance(thread)
    bench.decide(thread, "edit", "by the sea", args={"to": "Bergen", "days": 1})
    assert bench.advance(thread).status == "succeeded"
    return thread


def altered(
    tape: Path, to: Path, change: Callable[[int, dict[str, Any]], dict[str, Any] | None]
) -> Path:
    """The capsule with other lines of activities, whole in itself; None takes a line out."""
    writer = layout.Writer()
    with layout.opened(tape) as reader:
        for name in reader.names:
            if name == layout.ACTIVITIES:
                lines = [change(n, line) for n, line in enumerate(reader.lines(name))]
                writer.add_lines(name, [line for line in lines if line is not None])
            else:
                writer.add(name, list(reader.chunks(name)))
    to.write_bytes(b"".join(writer.chunks()))
    return to


def test_all_is_as_it_was_and_nothing_is_called(bench: Bench, lived: UUID, tmp_path: Path) -> None:
    tape = capsule(bench, lived, tmp_path / "tape.zip")
    assert set(taped.calls) == {"look_up", "forecast", "model", "book"}
    taped.calls.clear()
    thread = Harness(taped.graph).play(tape=tape)
    assert thread.status == "succeeded"
    assert thread.state == bench.state(lived)
    assert thread.state["outcome"] == "7 in Bergen from Central by the sea"
    assert [c.state_hash for c in thread.checkpoints][1:] == [
        c.state_hash for c in sorted(bench.checkpoints(lived), key=lambda c: c.number)
    ][1:]
    assert thread.id == lived
    assert thread.verify() > 3
    assert taped.calls == []


@pytest.mark.slow
def test_each_call_that_the_tape_lacks_is_refused(
    bench: Bench, lived: UUID, tmp_path: Path
) -> None:
    """Every line in turn is taken out, then asked for with something else."""
    tape = capsule(bench, lived, tmp_path / "tape.zip")
    with layout.opened(tape) as reader:
        lines = list(reader.lines(layout.ACTIVITIES))
    recorded = [line for line in lines if line["kind"] != "node"]
    assert {line["kind"] for line in recorded} == {"activity", "model", "value", "effect"}
    assert {line["state"] for line in recorded} == {"done", "failed"}
    taped.calls.clear()
    for number, line in enumerate(lines):
        if line["kind"] == "node":
            continue

        def without(n: int, row: dict[str, Any], number: int = number) -> dict[str, Any] | None:
            return None if n == number else row

        def other(n: int, row: dict[str, Any], number: int = number) -> dict[str, Any]:
            return row | {"args": {"other": 1}} if n == number else row

        for name, change in (("without", without), ("other", other)):
            path = altered(tape, tmp_path / f"{name}-{number}.zip", change)
            with pytest.raises(NotOnTape) as refused:
                Harness(taped.graph).play(tape=path)
            error = refused.value
            assert (error.node, error.step) == (line["node"], line["step"])
            assert line["tool"] in error.call or line["kind"] == "model"
            assert ("$.other is missing" in error.difference) == (name == "other") or (
                "$." in error.difference
            )
    assert taped.calls == []


def variant(node: str, call: Callable[[Any, Context], dict[str, Any]]) -> Graph:
    """The agent with other code in one node."""
    nodes = {"gather": taped.gather, "plan": taped.plan, "go": taped.go} | {node: call}
    other = Graph("taped", taped.Trip, model=taped.answer)
    other.node(then="plan", name="gather")(nodes["gather"])
    other.node(then="go", name="plan")(nodes["plan"])
    other.node(then=END, name="go", gate=True)(nodes["go"])
    return other


def played(graph: Graph, tape: Path) -> Played:
    return Harness(graph, tools={"look_up": lambda *_: "never"}).play(tape=tape, decide="approve")


@pytest.mark.slow
def test_other_code_is_told_what_it_asks_otherwise(
    bench: Bench, lived: UUID, tmp_path: Path
) -> None:
    tape = capsule(bench, lived, tmp_path / "tape.zip")
    taped.calls.clear()

    def warmer(state: taped.Trip, ctx: Context) -> dict[str, Any]:
        try:
            ctx.now()
            ctx.model("What to pack?", state.notes, temperature=0.7)
        except Exception as error:
            raise AssertionError("no node can catch it") from error
        return {}

    with pytest.raises(NotOnTape, match=r"ctx.model of node 'plan' in step 2.*0\.7.*has 0"):
        played(variant("plan", warmer), tape)

    def once_more(state: taped.Trip, ctx: Context) -> dict[str, Any]:
        for day in range(3):
            ctx.activity(taped.look_up, state.to, day)
        return {}

    with pytest.raises(
        NotOnTape, match=r"'look_up'.*there the tape has look_up#0, look_up#1, fore"
    ):
        played(variant("gather", once_more), tape)

    def elsewhere(state: taped.Trip, ctx: Context) -> dict[str, Any]:
        ctx.ask("Which station?", schema={"type": "string"})
        ctx.effect(taped.book, {"to": "Paris", "days": 2}, gate=Gate("Book Paris"))
        return {}

    with pytest.raises(NotOnTape, match=r"'trip.book'.*\$\.days is 2; the tape has 1") as refused:
        played(variant("go", elsewhere), tape)
    assert refused.value.node == "go"

    def asks(state: taped.Trip, ctx: Context) -> dict[str, Any]:
        ctx.ask("Which airport?")
        return {}

    with pytest.raises(NotOnTape, match="airport"):
        played(variant("go", asks), tape)

    def less(state: taped.Trip, ctx: Context) -> dict[str, Any]:
        return {"notes": [ctx.activity(taped.look_up, state.to, 0)]}

    with pytest.raises(NotOnTape, match=r"ctx.model.*\$\.parts\[1\] has 1 items; the tape has 3"):
        played(variant("gather", less), tape)
    assert taped.calls == []


def test_a_tape_ends_where_its_thread_stood(bench: Bench, tmp_path: Path) -> None:
    """An open request is for the play to decide; what comes after it is not on the tape."""
    thread = bench.start(to="Oslo")
    bench.advance(thread)
    bench.decide(thread, "respond", args="Central")
    bench.advance(thread)
    tape = capsule(bench, thread, tmp_path / "tape.zip")
    taped.calls.clear()
    play = Harness(taped.graph).play(tape=tape)
    assert (play.status, [r.title for r in play.open]) == ("waiting", ["Book Oslo"])
    with pytest.raises(NotOnTape, match=r"trip\.book. of node .go. in step 3") as refused:
        play.decide(Approve("now"))
    assert refused.value.difference == "the tape ends here: nobody had decided this request yet."
    assert taped.calls == []


def test_what_people_refused_is_refused_again(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start(to="Oslo")
    bench.advance(thread)
    bench.decide(thread, "respond", args="Central")
    bench.advance(thread)
    bench.decide(thread, "reject", "too far")
    assert bench.advance(thread).status == "failed"
    play = Harness(taped.graph).play(tape=capsule(bench, thread, tmp_path / "tape.zip"))
    assert (play.status, play.reason) == ("failed", bench.row(thread).status_reason)
    assert "too far" in play.reason


def test_a_tape_begins_after_what_people_changed(bench: Bench, lived: UUID, tmp_path: Path) -> None:
    """A rollback and an edit are not played; a fork reads its first state through its base."""
    bench.roll_back(lived, 1)
    bench.edit(lived, {"to": "Rome"}, "warmer")
    bench.resume(lived)
    bench.advance(lived)
    fork = bench.fork(lived, 2, {"days": 5})
    bench.advance(fork)
    taped.calls.clear()
    for thread in (lived, fork):
        tape = capsule(bench, thread, tmp_path / f"{thread}.zip")
        play = Harness(taped.graph).play(tape=tape)
        assert (play.status, play.state) == ("waiting", bench.state(thread))
        assert len(play.checkpoints) < len(bench.checkpoints(lived))
    assert taped.calls == []


def test_the_code_of_the_page_runs(
    bench: Bench, lived: UUID, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    capsule(bench, lived, tmp_path / "trips-0199a3.zip")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "trips", taped)
    page: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), page)
    page["test_the_customers_thread_ends_as_it_did"]()


def test_what_is_no_tape_is_said(bench: Bench, lived: UUID, tmp_path: Path) -> None:
    point = bench.checkpoint(lived, 1)
    one = capsule_of(bench.row(lived), point)
    path = tmp_path / "one.zip"
    path.write_bytes(b"".join(one.chunks()))
    with pytest.raises(layout.BadCapsule, match="holds one checkpoint and no calls"):
        Harness(taped.graph).play(tape=path)
    tape = capsule(bench, lived, tmp_path / "tape.zip")
    other = Graph("other", taped.Trip)
    other.node(then=END)(taped.gather)
    with pytest.raises(InvalidValue, match="is of the agent 'taped'"):
        Harness(other).play(tape=tape)
    with pytest.raises(TypeError, match="brings its own"):
        Harness(taped.graph).play({"to": "Rome"}, tape=tape)
    harness = Harness(taped.graph)
    harness.play(tape=tape)
    with pytest.raises(NotAllowedNow, match="played this thread already"):
        harness.play(tape=tape)
