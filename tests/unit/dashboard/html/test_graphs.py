"""The agent's graph: layers, loops, what was visited, the plan; from stored rows only."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.html import graphs


def graph(entry: list[str], **then: list[str]) -> dict[str, Any]:
    nodes = [{"name": n, "then": t, "label": n.title(), "gate": False} for n, t in then.items()]
    return {"entry": entry, "nodes": nodes}


LINE = graph(["load"], load=["clean"], clean=["draft"], draft=["publish"], publish=["__end__"])
LOOP = graph(["plan"], plan=["work"], work=["review"], review=["work", "__end__"])
DIAMOND = graph(["a"], a=["b", "c"], b=["d"], c=["d"], d=["__end__"])


def path(*steps: tuple[str, ...]) -> list[Any]:
    """Checkpoints of these steps, newest first, as lineage.head_path gives them."""
    return [SimpleNamespace(id=uuid4(), nodes=step) for step in reversed(steps)]


def at(picture: graphs.Picture) -> dict[str, graphs.Box]:
    return {box.name: box for box in picture.boxes}


def test_nodes_stand_in_layers_from_the_entry_down() -> None:
    boxes = at(graphs.picture(LINE, []))
    ys = [boxes[n].y for n in ("load", "clean", "draft", "publish", "__end__")]
    assert ys == sorted(ys)
    assert len(set(ys)) == 5


def test_siblings_share_a_layer_and_do_not_overlap() -> None:
    boxes = at(graphs.picture(DIAMOND, []))
    assert boxes["b"].y == boxes["c"].y
    left, right = sorted((boxes["b"], boxes["c"]), key=lambda box: box.x)
    assert left.x + left.w < right.x
    assert boxes["d"].y > boxes["b"].y
    assert boxes["a"].x + boxes["a"].w / 2 == pytest.approx(boxes["d"].x + boxes["d"].w / 2, abs=1)


def test_a_loop_goes_back_on_the_right_and_counts_its_rounds() -> None:
    walked = path(("plan",), ("work",), ("review",), ("work",), ("review",), ("work",))
    drawn = graphs.picture(LOOP, walked, current=("review",))
    (back,) = [edge for edge in drawn.edges if edge.back]
    assert back.taken
    assert back.label == "2×"
    assert back.x <= drawn.width


def test_an_edge_over_several_layers_goes_around_the_nodes_between() -> None:
    skipping = graph(["a"], a=["b", "d"], b=["c"], c=["d"], d=["__end__"])
    drawn = graphs.picture(skipping, [])
    (around,) = [re.findall(r"([\d.]+) [\d.]+v", e.path) for e in drawn.edges if "v" in e.path]
    for name in ("b", "c"):
        box = at(drawn)[name]
        assert all(not box.x < float(x) < box.x + box.w for x in around)


def test_states_say_done_now_and_to_come() -> None:
    drawn = at(graphs.picture(LINE, path((), ("load",), ("clean",)), current=("draft",)))
    assert [drawn[n].state for n in ("load", "clean", "draft", "publish")] == [
        "done", "done", "now", "todo",
    ]  # fmt: skip
    taken = [e.taken for e in graphs.picture(LINE, path(("load",)), current=("clean",)).edges]
    assert taken == [True, False, False, False]


def test_reaching_the_end_takes_the_last_edge() -> None:
    walked = path(("load",), ("clean",), ("draft",), ("publish",))
    drawn = graphs.picture(LINE, walked, finished=True)
    assert all(edge.taken for edge in drawn.edges)
    assert "The end is reached" in drawn.summary


def test_a_rollback_or_an_edit_in_between_does_not_break_the_way() -> None:
    drawn = graphs.trail(LINE, path(("load",), (), ("clean",)))
    assert ("load", "clean") in drawn.taken


def test_the_plan_names_what_is_done_and_what_is_awaited() -> None:
    walked = path((), ("plan",), ("work",), ("review",), ("work",))
    steps = graphs.plan(LOOP, walked, current=("review",))
    assert [(s.name, s.state, s.visits) for s in steps] == [
        ("plan", "done", 1), ("work", "done", 2), ("review", "now", 1),
    ]  # fmt: skip
    assert steps[1].checkpoint == walked[0].id
    assert steps[0].label == "Plan"


def test_a_large_graph_is_told_as_layers() -> None:
    names = [f"n{i}" for i in range(graphs.MAX_NODES + 1)]
    chain = {a: [b] for a, b in itertools.pairwise(names)} | {names[-1]: []}
    drawn = graphs.picture(graph([names[0]], **chain), [])
    assert drawn.too_big
    assert len(drawn.layers) == len(names)


def test_no_graph_and_an_unreachable_node_are_no_error() -> None:
    assert graphs.picture({}, []).boxes == ()
    assert "island" in at(graphs.picture(graph(["a"], a=[], island=[]), []))


@given(st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=1, max_size=8))
def test_any_graph_is_drawn_inside_its_frame_without_overlap(targets: list[list[int]]) -> None:
    n = len(targets)
    # Letters: nodes that differ by a number alone may be drawn as one.
    nodes = {
        f"node_{'abcdefgh'[i]}": [f"node_{'abcdefgh'[t]}" if t < n else "__end__" for t in ts]
        for i, ts in enumerate(targets)
    }
    drawn = graphs.picture(graph(["node_a"], **nodes), [], current=("node_a",))
    boxes = [box for box in drawn.boxes if box.state != "end"]
    assert {box.name for box in boxes} == set(nodes)
    for box in drawn.boxes:
        assert box.x >= 0
        assert box.x + box.w <= drawn.width
        assert box.y + graphs.NODE_H <= drawn.height + graphs.NODE_H
    for a, b in itertools.combinations(boxes, 2):
        assert a.y != b.y or a.x + a.w <= b.x or b.x + b.w <= a.x
    edges = {(a, b) for a, ts in nodes.items() for b in ts}
    assert len(drawn.edges) == len(edges)


def calling(count: int, **more: list[str]) -> dict[str, Any]:
    """A loop in which a model calls up to so many tools."""
    calls = [f"call_{n}" for n in range(1, count + 1)]
    then = {"model": [*calls, "__end__"], **{call: ["model"] for call in calls}, **more}
    return graph(["model"], **then)


def test_the_calls_of_a_loop_are_one_box_with_all_their_visits() -> None:
    went = path(("model",), ("call_1", "call_2", "call_7"), ("model",), ("call_1",))
    drawn = graphs.picture(calling(8), went, current=("call_3",))
    boxes = at(drawn)
    assert set(boxes) == {"model", "call_1", "__end__"}
    call = boxes["call_1"]
    assert (call.text, call.label) == ("call_1–8", "Call_1–8")
    assert (call.state, call.visits) == ("now", 2)
    assert sum(edge.back for edge in drawn.edges) == 1
    steps = {step.name: step for step in graphs.plan(calling(8), went)}
    assert {name: step.visits for name, step in steps.items()} == {"model": 2, "call_1": 2}
    assert steps["call_1"].checkpoint == went[0].id


@pytest.mark.parametrize(
    "drawn",
    [calling(3), calling(4, call_3=["__end__"]), graph(["a"], a=["b_2", "b_3", "b_4", "b_5"])],
    ids=["few", "another way", "no first"],
)
def test_nodes_that_are_not_alike_stay_apart(drawn: dict[str, Any]) -> None:
    names = {node["name"] for node in drawn["nodes"]}
    assert set(at(graphs.picture(drawn, []))) - {"__end__"} == names


def test_the_loop_that_ships_draws_its_calls_once() -> None:
    from gatepost import react
    from tests.unit.workers.react.tools import add

    described = react(tools=[add]).describe_graph()
    labels = [box.label for box in graphs.picture(described, []).boxes]
    assert labels.count("Tool call 1–8") == 1
    assert not any(label.endswith(" 2") for label in labels)
