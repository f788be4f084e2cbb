"""What a step costs does not depend on how long its thread is; what a node sees stays the same."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Sequence
from datetime import date
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, model_validator

from checkpoints.states import Status
from workers.authoring.errors import GraphError
from workers.authoring.frozen import FrozenState
from workers.authoring.graph import END, Append, Graph, Merge, State, Way, plain
from workers.authoring.state_view import Border
from workers.node.context import Context
from workers.testing.harness import Harness


class Built:
    """How many items were validated."""

    count = 0


class Line(BaseModel, frozen=True):
    name: str
    amount: int = 0
    due: date | None = None

    @model_validator(mode="after")
    def counted(self) -> Line:
        Built.count += 1
        return self


class Sheet(State):
    lines: Annotated[list[Line], Append(), Field(title="Lines")] = []
    named: Annotated[dict[str, Line], Merge()] = {}
    days: Annotated[list[date] | None, Append()] = None
    texts: Annotated[list[str], Append()] = []
    more: Annotated[list[dict[str, Any]], Append()] = []
    left: int = 5

    @model_validator(mode="after")
    def no_debts(self) -> Sheet:
        if self.lines and self.lines[-1].amount < 0:
            raise ValueError("the last amount must not be negative")
        return self


def sheet_of(n: int) -> dict[str, Any]:
    """A state with n items in each channel."""
    return {
        "lines": [{"name": str(i), "amount": i} for i in range(n)],
        "named": {str(i): {"name": str(i)} for i in range(n)},
        "texts": [str(i) for i in range(n)],
    }


def growing(seen: list[int]) -> Graph:
    """Adds to each channel and looks at its last item; notes what was built before each step."""
    graph = Graph("growing", Sheet)

    def on(state: Sheet) -> Way:
        assert len(state.lines) > state.left - 5
        return Way("add" if state.left else END)

    @graph.node(then=on, ways=("add", END))
    def add(state: Sheet, ctx: Context) -> dict[str, Any]:
        seen.append(Built.count)
        last = state.lines[-1]
        name = f"new {state.left}"
        assert state.named.get(name) is None
        line = Line(name=name, amount=last.amount + 1)
        return {"lines": [line], "named": {name: line}, "texts": [name], "left": state.left - 1}

    return graph


@pytest.mark.parametrize("n", [10, 1_000])
def test_the_items_built_in_a_step_do_not_depend_on_how_many_there_are(
    make_bench: Any, n: int
) -> None:
    seen: list[int] = []
    graph = growing(seen)
    bench = make_bench(SimpleNamespace(__name__="growing", __file__=None, graph=graph))
    thread = bench.start(**sheet_of(n))
    Built.count = 0
    assert bench.advance(thread).status is Status.SUCCEEDED
    # Loading judges the whole state once: that is when it may come from a person or other code.
    assert seen[0] == 2 * n
    steps = [after - before for before, after in itertools.pairwise(seen)]
    # One seen by the node, one by the validator, one made, and that checked in its two channels.
    assert steps == [5] * 4
    assert len(bench.state(thread)["lines"]) == n + 5


def test_a_view_of_models_behaves_like_the_list_and_the_dict_that_it_stands_for() -> None:
    state = sheet_of(3) | {"days": ["2026-11-22"], "more": [{"a": [1]}]}
    view = Border(Sheet).view(state)
    lines = [Line(name=str(i), amount=i) for i in range(3)]
    assert view.lines == lines
    assert lines == view.lines
    assert view.lines != lines[:2]
    assert view.lines != tuple(lines)
    assert (view.lines[0], view.lines[-1], view.lines[1:]) == (lines[0], lines[2], lines[1:])
    assert view.lines[0] is view.lines[0]
    assert [line.amount for line in view.lines] == [0, 1, 2]
    assert list(reversed(view.lines)) == lines[::-1]
    assert lines[1] in view.lines
    assert (view.lines.index(lines[1]), view.lines.count(lines[1]), len(view.lines)) == (1, 1, 3)
    assert view.lines + lines[:1] == lines + lines[:1] == [*view.lines, lines[0]]
    assert lines[:1] + view.lines == [lines[0], *lines]
    assert sorted(view.lines, key=lambda line: -line.amount) == lines[::-1]
    assert bool(view.lines)
    assert isinstance(view.lines, Sequence)
    assert repr(view.lines) == repr(lines)
    assert view.named == {line.name: Line(name=line.name) for line in lines}
    assert view.named["1"].name == "1"
    assert "9" not in view.named
    assert {**view.named, "x": lines[0]} == view.named | {"x": lines[0]}
    assert list(view.named) == ["0", "1", "2"]
    assert [line.name for line in view.named.values()] == ["0", "1", "2"]
    assert view.days == [date(2026, 11, 22)]
    for index in (3, -4, "x"):
        with pytest.raises((IndexError, TypeError)):
            view.lines[index]


def test_a_view_is_what_it_looks_like_to_other_code() -> None:
    """Prompts, requests and libraries take a list for a list and a dict for a dict."""
    more = [{"a": [1, {"b": None}]}, {}]
    view = Border(Sheet).view(sheet_of(2) | {"more": more, "texts": ["x", "y"]})
    assert isinstance(view.more, list)
    assert isinstance(view.named, dict)
    assert isinstance(view.more[0], dict)
    for value in (view.more, view.more[0], [view.more], {"more": view.more[0]["a"]}):
        assert json.loads(json.dumps(value)) == json.loads(json.dumps(plain(value)))
        assert json.dumps(value, indent=1, sort_keys=True)
    assert ", ".join(view.texts) == "x, y"
    for ordinary in (pickle.loads(pickle.dumps(view.more)), copy.copy(view.more), view.more * 2):
        assert type(ordinary) is list
        ordinary[0]["a"].append(2)
    for one in (list(view.more), [*view.more], sorted(view.more, key=len), tuple(view.more)):
        assert all(type(item).__name__ == "FrozenDict" for item in one)
    assert next(reversed(view.more)) == {}
    assert not (view.more != more)  # noqa: SIM202 - the other operator
    assert more == [{"a": [1, {"b": None}]}, {}]


def test_copies_of_a_view_are_the_authors_own() -> None:
    state = sheet_of(2) | {"more": [{"a": [1]}]}
    view = Border(Sheet).view(state)
    ones: list[Any] = []
    for mine in (view.more.copy(), copy.deepcopy(view.more), view.more + ones, ones + view.more):
        mine[0]["a"].append(2)
        mine.append("x")
    assert state["more"] == [{"a": [1]}]
    assert json.loads(json.dumps(plain(view.lines))) == state["lines"]
    assert plain(view.lines[1]) == {"name": "1", "amount": 1, "due": None}
    assert TypeAdapter(list[Line]).validate_python(view.lines) == list(view.lines)
    assert view.model_dump(mode="json")["lines"][1] == {"name": "1", "amount": 1, "due": None}
    assert Sheet.model_validate_json(view.model_dump_json()).lines == list(view.lines)


@pytest.mark.parametrize(
    ("channel", "change"),
    [
        ("lines", lambda s: s.lines.append(1)),
        ("lines", lambda s: s.lines.sort()),
        ("lines", lambda s: s.lines.__setitem__(0, 1)),
        ("lines", lambda s: s.lines.extend([1])),
        ("named", lambda s: s.named.update(a=1)),
        ("named", lambda s: s.named.pop("0")),
        ("texts", lambda s: s.texts.__iadd__(["x"])),
        ("more", lambda s: s.more[0]["a"].append(2)),
        ("more", lambda s: s.more[0].setdefault("b", 1)),
    ],
)
def test_a_change_is_refused_by_the_name_of_its_channel(channel: str, change: Any) -> None:
    view = Border(Sheet).view(sheet_of(1) | {"more": [{"a": [1]}]})
    with pytest.raises(FrozenState, match=f"return {{'{channel}': ...}}"):
        change(view)


def test_a_whole_state_validator_judges_each_step() -> None:
    graph = Graph("debts", Sheet)

    @graph.node(then=END)
    def owe(state: Sheet, ctx: Context) -> dict[str, Any]:
        return {"lines": [Line(name="x", amount=-1)]}

    thread = Harness(graph).play()
    assert thread.status == "failed"
    assert "the last amount must not be negative" in thread.reason
    assert thread.state["lines"] == []


def test_what_came_from_elsewhere_is_judged_once_when_it_is_taken(make_bench: Any) -> None:
    graph = growing([])
    bench = make_bench(SimpleNamespace(__name__="growing", __file__=None, graph=graph))
    thread = bench.start(**sheet_of(2))
    bench.pause(thread)
    bench.edit(thread, {"lines": [{"name": "a"}, {"name": "b", "amount": "many"}]}, "a typo")
    bench.resume(thread)
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert row.step == 0
    assert "$.lines[1].amount: Input should be a valid integer" in row.status_reason
    assert "Edit the state, then retry" in row.status_reason
    bench.edit(thread, {"lines": [{"name": "a"}]}, "mended")
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_models_may_be_returned_and_passed_on_as_they_were_seen() -> None:
    graph = Graph("passing", Sheet)

    def total(lines: list[dict[str, Any]], first: dict[str, Any]) -> dict[str, Any]:
        lines.clear()  # its own copy
        return {"lines": lines, "first": first}

    @graph.node(then=END)
    def on(state: Sheet, ctx: Context) -> dict[str, Any]:
        activity = ctx.activity(total, state.lines, state.lines[0])
        assert activity == {"lines": [], "first": {"name": "0", "amount": 0, "due": None}}
        return {"lines": state.lines, "named": {"x": state.lines[0]}, "days": [date(2026, 1, 1)]}

    thread = Harness(graph).play(sheet_of(2) | {"days": []})
    assert thread.status == "succeeded", str(thread)
    assert [line["name"] for line in thread.state["lines"]] == ["0", "1", "0", "1"]
    assert thread.state["days"] == ["2026-01-01"]
    assert thread.activities[0].args["args"][0][1] == {"name": "1", "amount": 1}


def test_a_channel_that_cannot_grow_is_refused_where_it_is_declared() -> None:
    class Wrong(State):
        notes: Annotated[tuple[str, ...], Append()] = ()

    graph = Graph("wrong", Wrong)
    graph.node("only", then=END)(lambda state, ctx: None)
    with pytest.raises(GraphError, match=r"Channel 'notes' has the reducer Append.*list"):
        graph.check()
