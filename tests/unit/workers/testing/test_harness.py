"""The author's bench: plays, verdicts by script, effects, stand-ins, faults."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from checkpoints.errors import InvalidValue, NotAllowedNow
from tests.unit.workers.graphs import talking
from tests.unit.workers.graphs.samples import counter, graph
from workers.authoring.errors import Expired, GraphError, Rejected
from workers.authoring.graph import END, Append, Gate, Graph, State, tool
from workers.node.context import Context
from workers.testing.harness import Approve, Harness, Reject, Respond, Scripted

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def _emptied() -> None:
    counter.calls.clear()
    talking.during.calls.clear()


@pytest.mark.requirement("B12")
def test_a_play_stops_at_its_gate_goes_on_forks_and_rolls_back(tmp_path: Path) -> None:
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 2})
    assert thread.status == "waiting"
    assert "asks 'Place the order?'" in repr(thread)
    (request,) = thread.open
    assert request.args == {"folder": str(tmp_path), "goal": "tea"}
    assert thread.decide(Approve("go ahead")).status == "succeeded"
    assert thread.state["outcome"] == "bought, go ahead"
    assert [e.state for e in thread.effects] == ["done"]
    assert [thread.state_at(n)["done"] for n in range(4)] == [0, 1, 2, 2]

    other = thread.fork(1, {"goal": "milk"}, decide="approve")
    assert other.state["notes"] == ["tea 1", "milk 2"]
    assert thread.state["notes"] == ["tea 1", "tea 2"]

    assert [f.fate for f in thread.would_undo(to=1)] == ["undoable"]
    assert thread.roll_back(to=1).status == "paused"
    assert not (tmp_path / "order.txt").exists()
    assert counter.count("take_back") == 1
    assert [c.number for c in thread.checkpoints if c.abandoned] == [2, 3]
    thread.edit({"goal": "coffee"}).resume(decide="approve")
    assert thread.status == "succeeded"
    assert (tmp_path / "order.txt").read_text().startswith("coffee ")
    assert thread.verify() == len(thread.events)
    assert other.verify() == len(other.events)


@pytest.mark.parametrize(
    ("decide", "outcome"),
    [
        ("approve", "bought, "),
        (Approve("yes"), "bought, yes"),
        (["approve"], "bought, "),
        ([Reject("too dear")], "rejected: too dear"),
        ({"Place the order?": Reject("no")}, "rejected: no"),
        ({"order.place": Approve("by tool")}, "bought, by tool"),
        ({"buy": Approve("by node")}, "bought, by node"),
        (lambda a: Approve(a.risk), "bought, high"),
        (None, ""),
        ([], ""),
        ({"another": "approve"}, ""),
        (lambda a: None, ""),
    ],
)
def test_verdicts_come_by_script(tmp_path: Path, decide: Any, outcome: str) -> None:
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 1}, decide=decide)
    assert thread.state["outcome"] == outcome
    assert thread.status == ("succeeded" if outcome else "waiting")


def test_a_verdict_that_is_none_is_refused_with_those_there_are(tmp_path: Path) -> None:
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 1})
    with pytest.raises(TypeError, match=r"Approve\(comment\), Reject\(reason\)"):
        thread.decide("yes")
    with pytest.raises(InvalidValue, match="give a reason"):
        thread.decide(Reject(" "))
    with pytest.raises(AssertionError, match="open: 'Place the order\\?'"):
        thread.decide("approve", which="something else")
    assert thread.status == "waiting"


class Many(State):
    said: Annotated[list[str], Append()] = []


@tool("note.keep")
def keep(text: str, *, key: str) -> str:
    """Keep a note."""
    counter(f"keep {text}")
    return text


def undo_last(args: dict[str, Any], result: Any, *, key: str) -> None:
    counter(f"undo {args['text']}")


@tool("note.pin", undo=undo_last, idempotent=True)
def pin(text: str, *, key: str) -> str:
    """Pin a note."""
    counter(f"pin {text}")
    return text


def gates() -> Graph:
    """Two nodes ask in one step, then one sleeps and asks a question."""
    many = Graph("many", Many)

    @many.node(then=("left", "right"))
    def begin(state: Many, ctx: Context) -> None: ...

    def asks(name: str) -> Callable[[Many, Context], Any]:
        def ask(state: Many, ctx: Context) -> Any:
            try:
                ctx.effect(pin, {"text": name}, gate=Gate(f"Pin {name}?", expires_in=60))
            except Rejected as no:
                return {"said": [f"{name}: {no.comment}"]}
            except Expired:
                return {"said": [f"{name}: late"]}
            return {"said": [name]}

        return ask

    many.node("left", then="last")(asks("left"))
    many.node("right", then="last")(asks("right"))

    @many.node(then=END)
    def last(state: Many, ctx: Context) -> Any:
        ctx.sleep(3600)
        answer = ctx.ask("How many?", schema={"type": "integer"})
        return {"said": [f"{answer.value}"]}

    return many


def test_several_gates_a_sleep_and_a_question_cost_no_time() -> None:
    began = time.monotonic()
    thread = Harness(gates()).play()
    assert [a.title for a in thread.open] == ["Pin left?", "Pin right?"]
    thread.decide("approve", which="right")
    assert thread.status == "waiting"
    thread.decide(Reject("not this"), which="left")
    with pytest.raises(InvalidValue, match="is not of type 'integer'"):
        thread.decide(Respond("seven"))
    thread.decide(Respond(7))
    assert thread.status == "succeeded"
    assert thread.state["said"] == ["left: not this", "right", "7"]
    assert time.monotonic() - began < 60
    assert (thread.events[-1].at - thread.events[0].at).total_seconds() > 3600


def test_requests_expire_when_time_passes() -> None:
    thread = Harness(gates()).play()
    assert thread.pass_time(59).status == "waiting"
    thread.pass_time(2)
    assert [a.status for a in thread.approvals[:2]] == ["expired", "expired"]
    assert thread.decide(Respond(1)).state["said"] == ["left: late", "right: late", "1"]


def test_effects_are_undone_last_first() -> None:
    line = Graph("line", Many)

    def pins(name: str) -> Callable[[Many, Context], Any]:
        return lambda state, ctx: {"said": [ctx.effect(pin, {"text": name}).result]}

    line.node("one", then="two")(pins("one"))
    line.node("two", then="three")(pins("two"))

    @line.node(then=END)
    def three(state: Many, ctx: Context) -> None:
        ctx.effect(keep, {"text": "three"})

    thread = Harness(line).play()
    assert [(f.activity.args["text"], f.fate) for f in thread.would_undo(0)] == [
        ("three", "stays"),
        ("two", "undoable"),
        ("one", "undoable"),
    ]
    assert thread.roll_back(to=0).state["said"] == []
    assert [c for c in counter.calls if c.startswith("undo")] == ["undo two", "undo one"]
    assert [e.state for e in thread.effects] == ["compensated", "compensated", "done"]


# ---- the outside world ---------------------------------------------------------------------------


def test_stand_ins_are_called_and_recorded_in_place_of_the_real_thing(tmp_path: Path) -> None:
    done: list[str] = []
    thread = Harness(
        graph,
        tools={
            "look_up": lambda goal: {"goal": goal, "price": "9.99"},
            "order.place": lambda folder, goal, *, key: done.append(key) or {"receipt": "R-1"},
        },
    ).play({"folder": str(tmp_path), "rounds": 1})
    assert thread.open[0].schema["required"] == ["folder", "goal"]
    thread.decide("approve")
    assert thread.status == "succeeded"
    assert counter.count("look_up") == counter.count("place") == 0
    assert [a.tool for a in thread.activities] == ["look_up", "order.place"]
    assert done == [thread.effects[0].idempotency_key]
    assert thread.state["receipt"] == "R-1"
    thread.roll_back(to=0)
    assert counter.count("take_back") == 1


def test_a_script_answers_one_call_after_the_other(tmp_path: Path) -> None:
    model = Scripted({"goal": "a", "price": "1"}, RuntimeError("overloaded"), {"goal": "b"})
    harness = Harness(graph, tools={"look_up": model})
    thread = harness.play({"folder": str(tmp_path), "rounds": 2})
    assert thread.status == "failed"
    assert "overloaded" in thread.reason
    thread.retry()
    assert "KeyError: 'price'" in thread.reason
    assert model.calls == [(("tea",), {})] * 3
    # What the third call answered is recorded: a retry does not call again.
    assert "KeyError: 'price'" in thread.retry().reason
    with pytest.raises(AssertionError, match="Call 4 of a script with 3 answers: \\('tea',\\)"):
        model("tea")


def test_a_lost_worker_costs_no_recorded_call(tmp_path: Path) -> None:
    lost = 0
    for n in range(1, 12):
        counter.calls.clear()
        harness = Harness(graph, stop_after=n)
        thread = harness.play({"folder": str(tmp_path), "rounds": 2}, decide="approve")
        assert thread.status == "succeeded", f"{n}: {thread}"
        assert counter.count("look_up") == 2
        assert counter.count("place") == 1
        lost += thread.kinds.count("lease.taken_over")
        assert thread.verify()
    assert lost >= 6


def test_a_failing_step_says_where_and_can_be_retried(tmp_path: Path) -> None:
    calls: list[int] = []

    def flaky(goal: str) -> dict[str, str]:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("the shop is closed")
        return {"goal": goal, "price": "1.00"}

    harness = Harness(graph, tools={"look_up": flaky})
    thread = harness.play({"folder": str(tmp_path), "rounds": 1}, decide="approve")
    assert thread.status == "failed"
    assert "the shop is closed" in repr(thread)
    assert isinstance(thread.error, RuntimeError)
    assert thread.error.__traceback__ is not None
    assert thread.retry(decide="approve").status == "succeeded"
    assert thread.error is None


@pytest.mark.requirement("A43")
def test_pauses_messages_and_files(tmp_path: Path) -> None:
    thread = Harness(talking.graph).play({"rounds": 1}, pause_at="second")
    assert (thread.status, thread.next_nodes) == ("paused", ("second",))
    assert thread.send({"text": "hello"}).resume().status == "succeeded"
    assert thread.state["heard"] == ["first: ", "second: hello"]
    assert thread.thoughts == ["I listen"]
    with pytest.raises(NotAllowedNow, match="names no message channel"):
        Harness(graph).play({"folder": str(tmp_path)}).send("hello")

    filing = Graph("filing", Many)

    @filing.node(then=END)
    def put(state: Many, ctx: Context) -> Any:
        ref = ctx.artifact("a.txt", b"bytes", "text/plain")
        assert ctx.artifact_path(ref).read_bytes() == ctx.open_artifact(ref).read() == b"bytes"
        return {"said": [ref["$artifact"]]}

    filed = Harness(filing).play()
    assert filed.file({"$artifact": filed.state["said"][0]}) == b"bytes"


def test_what_does_not_fit_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"\$\.gaol: the state has no such channel; it has goal"):
        Harness(graph).play({"gaol": "tea"})
    with pytest.raises(InvalidValue, match=r"\$\.rounds: Input should be a valid integer"):
        Harness(graph).play({"rounds": "many"})
    with pytest.raises(InvalidValue, match="NaN"):
        Harness(graph).play({"facts": {"x": float("nan")}})
    with pytest.raises(GraphError, match="no nodes"):
        Harness(Graph("empty", Many))
    thread = Harness(graph).play({"folder": str(tmp_path), "rounds": 1})
    with pytest.raises(InvalidValue, match=r"\$\.rounds"):
        thread.edit({"rounds": "many"})
    with pytest.raises(NotAllowedNow, match="Resuming is not possible while the thread is waiting"):
        thread.resume()
    assert thread.cancel("enough").status == "cancelled"
    assert [a.status for a in thread.approvals] == ["withdrawn"]


def test_a_play_that_comes_to_no_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.testing.harness.ROUNDS_MAX", 20)
    waiting = Graph("waiting", Many)

    @waiting.node(then="again")
    def again(state: Many, ctx: Context) -> None:
        ctx.sleep(1)

    with pytest.raises(AssertionError, match="comes to no end in 20 rounds"):
        Harness(waiting).play()


class Pair(State):
    left: str = ""
    right: str = ""


pair = Graph("pair", Pair)


@pair.node(then=("left", "right"))
def both(state: Pair, ctx: Context) -> None: ...


@pair.node(then=END)
def left(state: Pair, ctx: Context) -> dict[str, Any]:
    return {"left": ctx.ask("Which?", key="of the left").value}


@pair.node(then=END)
def right(state: Pair, ctx: Context) -> dict[str, Any]:
    return {"right": ctx.ask("Which?", key="of the right").value}


@pytest.mark.parametrize(
    "decide",
    [[None, Respond("b")], {"of the right": Respond("b")}, {"right": Respond("b")}],
    ids=["list", "key", "node"],
)
def test_the_second_of_two_open_requests_is_decided_without_a_function(decide: Any) -> None:
    thread = Harness(pair).play(decide=decide)
    assert [request.node for request in thread.open] == ["left"]
    thread.decide(Respond("a"), "of the left")
    assert (thread.status, thread.state) == ("succeeded", {"left": "a", "right": "b"})
    thread = Harness(pair).play()
    assert thread.decide(Respond("b"), "of the right").open[0].node == "left"
