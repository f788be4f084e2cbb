"""What an author may write: edges, reducers, the typed border of a node, the frozen view."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest

from checkpoints.states import Status
from workers.authoring.errors import GraphError, Rejected
from workers.authoring.graph import END, Append, Decimal, Graph, LastValue, Merge, State, Sum, Way
from workers.node.context import Context


class Letter(State):
    messages: Annotated[list[str], Append()] = []
    metadata: Annotated[dict[str, Any], Merge()] = {}
    pending_approvals: list[str] = []
    count: Annotated[int, Sum()] = 0
    money: Annotated[str, Decimal()] = "0.00"
    due: date | None = None
    mood: Annotated[Literal["calm", "loud"], LastValue()] = "calm"


@pytest.fixture
def bench_with(make_bench: Callable[[Any], Any]) -> Callable[..., Any]:
    """A bench for a straight graph of functions; `ways` overrides where a node leads."""

    def made(*nodes: Callable[..., Any], ways: dict[str, Any] | None = None) -> Any:
        graph = Graph("letters", Letter)
        for i, call in enumerate(nodes):
            after = nodes[i + 1].__name__ if i + 1 < len(nodes) else END
            graph.node(**((ways or {}).get(call.__name__) or {"then": after}))(call)
        return make_bench(SimpleNamespace(__name__="letters", __file__=None, graph=graph))

    return made


@pytest.mark.requirement("C02")
def test_nodes_act_and_function_edges_choose_the_way_and_say_why(bench_with: Any) -> None:
    def look(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"count": 2}

    def short(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"messages": ["short"]}

    def long(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"messages": ["long"]}

    def choose(state: Letter) -> Way:
        return Way("long" if state.count > 1 else "short", f"count is {state.count}")

    bench = bench_with(
        look,
        short,
        long,
        ways={"look": {"then": choose, "ways": ("short", "long")}, "short": {"then": END}},
    )
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["messages"] == ["long"]
    (event,) = [e for e in bench.events(thread) if e.kind == "way.taken"]
    assert event.data == {"from": "look", "to": ["long"], "because": "count is 2"}


@pytest.mark.requirement("C03")
@pytest.mark.requirement("C04")
def test_one_typed_state_passes_through_the_graph_and_each_key_has_its_reducer(
    bench_with: Any,
) -> None:
    def first(state: Letter, ctx: Context) -> dict[str, Any]:
        return {
            "messages": ["a"],
            "metadata": {"x": 1, "y": 1},
            "count": 1,
            "money": "0.10",
            "due": date(2026, 11, 21),
            "pending_approvals": ["one"],
        }

    def second(state: Letter, ctx: Context) -> dict[str, Any]:
        assert state.due == date(2026, 11, 21)
        assert state.messages == ["a"]
        return {
            "messages": ["b", "c"],
            "metadata": {"y": 2},
            "count": 3,
            "money": "0.20",
            "pending_approvals": [],
        }

    bench = bench_with(first, second)
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread) == {
        "messages": ["a", "b", "c"],
        "metadata": {"x": 1, "y": 2},
        "count": 4,
        "money": "0.30",
        "due": "2026-11-21",
        "mood": "calm",
        "pending_approvals": [],
    }


@pytest.mark.requirement("C05")
@pytest.mark.parametrize(
    ("update", "path"),
    [
        ({"count": "3"}, "$.count"),
        ({"messages": "text"}, "$.messages"),
        ({"messages": ["fine", 3]}, "$.messages[1]"),
        ({"mood": "angry"}, "$.mood"),
        ({"nobody": 1}, "$.nobody"),
        ({"metadata": {"x": float("nan")}}, "$.metadata.x"),
        ({"metadata": {"x": "\x00"}}, "$.metadata.x"),
        ({"metadata": {"x": "\ud800"}}, "$.metadata.x"),
        ({"metadata": {"x": 2**60}}, "$.metadata.x"),
        (["not a dict"], "$"),
    ],
)
def test_an_invalid_update_changes_nothing_and_is_an_event(
    update: Any, path: str, bench_with: Any
) -> None:
    def wrong(state: Letter, ctx: Context) -> Any:
        return update

    bench = bench_with(wrong)
    thread = bench.start()
    before = bench.state(thread)
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert row.step == 0
    assert bench.state(thread) == before
    (rejected,) = [e for e in bench.events(thread) if e.kind == "update.rejected"]
    assert rejected.data["path"] == path
    assert path in row.status_reason


def test_a_state_beyond_the_limit_fails_its_step_and_says_what_to_do(bench_with: Any) -> None:
    def huge(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"messages": ["x" * 1_000_000] * 9}

    bench = bench_with(huge)
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "$.messages: the state has 9,0" in row.status_reason
    assert "ctx.artifact" in row.status_reason
    assert row.step == 0


def test_the_state_is_read_only_in_a_node_and_the_refusal_names_the_channel(
    bench_with: Any,
) -> None:
    def changing(state: Letter, ctx: Context) -> None:
        state.messages.append("sneaked in")

    bench = bench_with(changing)
    thread = bench.start(messages=["kept"])
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "'messages'" in row.status_reason
    assert bench.state(thread)["messages"] == ["kept"]


def test_two_ready_nodes_merge_in_the_order_of_the_graph(bench_with: Any) -> None:
    def split(state: Letter, ctx: Context) -> None:
        return None

    def left(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"messages": ["left"], "count": 1}

    def right(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"messages": ["right"], "count": 1}

    bench = bench_with(
        split,
        left,
        right,
        ways={"split": {"then": ("right", "left")}, "left": {"then": END}, "right": {"then": END}},
    )
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["messages"] == ["left", "right"]
    assert bench.state(thread)["count"] == 2
    assert bench.row(thread).step == 2


def test_two_writes_to_one_last_value_in_one_step_are_an_error(bench_with: Any) -> None:
    def split(state: Letter, ctx: Context) -> None:
        return None

    def left(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"mood": "loud"}

    def right(state: Letter, ctx: Context) -> dict[str, Any]:
        return {"mood": "calm"}

    ends = {"then": END}
    bench = bench_with(
        split,
        left,
        right,
        ways={"split": {"then": ("left", "right")}, "left": ends, "right": ends},
    )
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "$.mood" in row.status_reason


def test_a_question_waits_for_an_answer_that_fits_its_schema(bench_with: Any) -> None:
    def asking(state: Letter, ctx: Context) -> dict[str, Any]:
        try:
            answer = ctx.ask("How many?", schema={"type": "integer", "minimum": 1})
        except Rejected as no:
            return {"messages": [f"no: {no.comment}"]}
        return {"count": answer.value, "messages": [answer.by]}

    bench = bench_with(asking)
    thread = bench.start()
    assert bench.advance(thread).status is Status.WAITING
    bench.decide(thread, "respond", args=7)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["count"] == 7
    assert bench.state(thread)["messages"] == ["manager"]


def test_recorded_values_and_sleep_stay_the_same_over_a_stop(bench_with: Any) -> None:
    seen: list[tuple[Any, ...]] = []

    def drawing(state: Letter, ctx: Context) -> dict[str, Any]:
        seen.append((ctx.now(), ctx.random(), ctx.uuid()))
        ctx.sleep(0.2)
        return {"count": 1}

    bench = bench_with(drawing)
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.SLEEPING
    assert row.wake_at is not None
    bench.pass_time(0.25)
    assert bench.wake_sleepers() == 1
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_unsound_graphs_are_refused_with_a_sentence() -> None:
    graph = Graph("g", Letter)
    with pytest.raises(GraphError, match="no nodes"):
        graph.check()
    graph.node(then="nowhere")(lambda state, ctx: None)
    with pytest.raises(GraphError, match="nowhere"):
        graph.check()
    with pytest.raises(GraphError, match="ways"):
        graph.node("x", then=lambda state: "y")(lambda state, ctx: None)
