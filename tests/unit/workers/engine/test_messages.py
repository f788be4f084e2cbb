"""New input on the real engine: not seen by the node at work, seen by the next one, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import talking
from tests.unit.workers.graphs.samples import counter
from tests.unit.workers.graphs.talking import during
from workers.authoring.errors import GraphError
from workers.authoring.frozen import FrozenState
from workers.authoring.graph import END, Append, Graph, Merge, State


@pytest.fixture
def bench(make_bench: Any) -> Iterator[Bench]:
    counter.calls.clear()
    during.calls.clear()
    yield make_bench(talking)
    assert not during.calls, "something was to happen and did not"


def sources(bench: Bench, thread: UUID) -> list[tuple[str, int]]:
    """(source, step) of each checkpoint, oldest first."""
    return [(c.source, c.step) for c in reversed(bench.checkpoints(thread))]


def test_the_node_at_work_does_not_see_it_and_the_next_one_does(bench: Bench) -> None:
    thread = bench.start()
    during.calls["first"] = lambda: bench.send(thread, {"text": "hello"})
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED
    assert bench.state(thread)["heard"] == [
        "first: ",
        "second: hello",
        "first: hello",
        "second: hello",
    ]
    assert bench.state(thread)["messages"] == [{"text": "hello", "loud": False}]
    assert sources(bench, thread) == [
        ("input", 0),
        ("step", 1),
        ("input", 1),
        ("step", 2),
        ("step", 3),
        ("step", 4),
    ]
    kinds = bench.kinds(thread)
    assert kinds.count("input.received") == kinds.count("input.taken") == 1
    taken = next(c for c in bench.checkpoints(thread) if c.number == 2)
    assert (taken.created_by, taken.nodes, taken.next_nodes) == ("user:1", (), ("second",))
    assert row.n_steps == 4
    assert bench.intact(thread)


def test_several_messages_come_in_their_order_before_the_first_step(bench: Bench) -> None:
    thread = bench.start(rounds=1)
    numbers = [bench.send(thread, {"text": str(n), "loud": n == 1}) for n in range(3)]
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [m["text"] for m in bench.state(thread)["messages"]] == ["0", "1", "2"]
    assert sources(bench, thread) == [("input", 0), ("input", 0), ("step", 1), ("step", 2)]
    [taken] = [e for e in bench.events(thread) if e.kind == "input.taken"]
    assert taken.data == {"inputs": numbers, "channel": "messages"}


def test_more_than_one_look_holds(bench: Bench) -> None:
    thread = bench.start(rounds=1)
    for n in range(230):
        bench.send(thread, {"text": str(n)})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [m["text"] for m in bench.state(thread)["messages"]] == [str(n) for n in range(230)]
    assert [s for s, _ in sources(bench, thread)].count("input") == 1 + 3


def test_a_waiting_thread_waits_on_and_takes_it_after_the_decided_step(bench: Bench) -> None:
    thread = bench.start(rounds=2, ask_in=1)
    assert bench.advance(thread).status is Status.WAITING
    request = bench.open(thread)
    bench.send(thread, {"text": "wait"})
    assert bench.row(thread).status is Status.WAITING
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    # Decided was what the step began with: it is not asked again, and nothing is said twice.
    assert request.args == {"text": "0 heard"}
    assert counter.count("say") == 1
    assert bench.kinds(thread).count("approval.requested") == 1
    assert bench.state(thread)["heard"][1:3] == ["second: ", "first: wait"]


def test_what_comes_on_the_way_to_a_gate_is_taken_before_it(bench: Bench) -> None:
    thread = bench.start(ask_in=1)
    during.calls["first"] = lambda: bench.send(thread, {"text": "in time"})
    assert bench.advance(thread).status is Status.WAITING
    assert bench.open(thread).args == {"text": "1 heard"}


def test_a_step_that_has_begun_is_finished_with_what_it_began_with(bench: Bench) -> None:
    def fall() -> None:
        raise RuntimeError("after its activity was recorded")

    thread = bench.start(rounds=2)
    during.calls["second"] = fall
    assert bench.advance(thread).status is Status.FAILED
    bench.send(thread, {"text": "late"})
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert counter.count("look") == 2  # once per round: the record answered for the retried step
    assert bench.state(thread)["heard"][1:3] == ["second: ", "first: late"]
    assert sources(bench, thread)[2:4] == [("step", 2), ("input", 2)]


def test_what_comes_while_the_last_step_works_stays_until_there_is_a_next_one(bench: Bench) -> None:
    thread = bench.start(rounds=1)
    during.calls["second"] = lambda: bench.send(thread, {"text": "late"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["heard"] == ["first: ", "second: "]
    assert [w.message["text"] for w in bench.waiting_inputs(thread)] == ["late"]
    bench.roll_back(thread, 1)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["heard"] == ["first: ", "second: late"]
    assert bench.waiting_inputs(thread) == []


def test_a_failed_step_that_recorded_nothing_sees_it_when_it_is_retried(bench: Bench) -> None:
    thread = bench.start(rounds=1, fail_in=1)
    assert bench.advance(thread).status is Status.FAILED
    bench.send(thread, {"text": "try again"})
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["heard"] == ["first: ", "second: try again"]
    assert bench.kinds(thread).count("thought.recorded") == 1


def test_a_pause_comes_first(bench: Bench) -> None:
    thread = bench.start(rounds=1)
    during.calls["first"] = lambda: (
        bench.send(thread, {"text": "later"}),
        bench.pause(thread),
    )
    assert bench.advance(thread).status is Status.PAUSED
    assert len(bench.waiting_inputs(thread)) == 1
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["heard"] == ["first: ", "second: later"]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"text": 1}, "$.text"),
        ("hello", "$"),
        ({"text": "x", "more": 1}, "$.more"),
        ({"text": "damn"}, "$"),
    ],
)
def test_what_the_agent_itself_refuses_stops_nobody(bench: Bench, message: Any, path: str) -> None:
    thread = bench.start(rounds=1)
    refused = bench.send(thread, message)
    bench.send(thread, {"text": "fine"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [m["text"] for m in bench.state(thread)["messages"]] == ["fine"]
    [event] = [e for e in bench.events(thread) if e.kind == "update.rejected"]
    assert (event.data["input"], event.data["path"]) == (refused, path)
    assert event.data["why"]
    assert bench.waiting_inputs(thread) == []


def test_only_refused_messages_write_no_checkpoint(bench: Bench) -> None:
    thread = bench.start(rounds=1)
    bench.send(thread, 7)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert sources(bench, thread) == [("input", 0), ("step", 1), ("step", 2)]
    assert bench.waiting_inputs(thread) == []
    assert bench.intact(thread)


def test_a_message_that_the_state_cannot_hold_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from checkpoints.state import deltas

    thread = bench.start(rounds=1)
    bench.send(thread, {"text": "x" * 5_000})
    bench.send(thread, {"text": "small"})
    tight = deltas.Limits(state_bytes=4_000)
    monkeypatch.setattr(deltas, "LIMITS", tight)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [m["text"] for m in bench.state(thread)["messages"]] == ["small"]


def test_an_agent_without_message_channel_takes_nothing_and_loses_nothing(make_bench: Any) -> None:
    from tests.unit.workers.graphs import samples

    bench = make_bench(samples)
    assert "inbox" not in samples.graph.describe_graph()
    thread = bench.start()
    bench.send(thread, "hello")  # the entry points refuse this; the store only keeps
    assert bench.advance(thread).status is Status.WAITING
    assert len(bench.waiting_inputs(thread)) == 1


def test_a_message_channel_is_checked_where_it_is_declared() -> None:
    class Shape(State):
        word: str = ""
        facts: Annotated[dict[str, Any], Merge()] = {}
        said: Annotated[list[str], Append()] = []

    for name, why in (("nothing", "not a channel"), ("word", "Append"), ("facts", "Append")):
        with pytest.raises(GraphError, match=why):
            Graph("wrong", Shape, message_channel=name)
    graph = Graph("right", Shape, message_channel="said")

    @graph.node(then=END)
    def only(state: Shape, ctx: Any) -> None: ...

    assert graph.describe_graph()["inbox"] == "said"


def test_a_fork_begins_with_another_config_and_its_nodes_see_it(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def look_at(name: str) -> None:
        pass

    bench = make_bench(talking)
    monkeypatch.setattr(talking, "during", look_at)

    def noting(state: Any, by: str) -> dict[str, Any]:
        return {"heard": [by]}

    monkeypatch.setattr(talking, "heard", noting)

    from workers.node.context import Context

    def think(self: Context, text: str, **facts: Any) -> None:
        seen.append(self.config)
        with pytest.raises(FrozenState, match=r"ctx\.config is read-only"):
            self.config["model"] = "other"  # type: ignore[index]

    monkeypatch.setattr(Context, "think", think)
    config = {"model": "small", "temperature": 0.2, "prompts": {"system": "Be brief."}}
    base = bench.start(rounds=1, config=config)
    bench.advance(base)
    assert seen == [config]
    fork = bench.fork(base, 0, {}, config={"model": "large"})
    bench.advance(fork)
    assert seen[1] == {**config, "model": "large"}
    # A fork of the fork has it as well, and the base is as it was.
    third = bench.fork(fork, 1, {"rounds": 2})
    assert bench.config(third) == {**config, "model": "large"}
    assert bench.config(base) == config
    assert all(bench.intact(t) for t in (base, fork, third))
    plain = bench.start(rounds=1)
    bench.advance(plain)
    assert seen[-1] == {}
