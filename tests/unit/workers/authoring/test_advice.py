"""What a newcomer reads: each mistake names the node, the place and the fix."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from tests.unit.workers.graphs.samples import counter
from workers.authoring.errors import GraphError, StepFailed
from workers.authoring.graph import END, Append, Gate, Graph, State, Way, tool
from workers.node.context import Context
from workers.step.advice import engine_failure
from workers.testing.harness import Harness, Played


class Note(BaseModel, frozen=True):
    text: str


class Desk(State):
    goal: str = "tea"
    count: int = 0
    notes: Annotated[list[Note], Append()] = []


def look_up(goal: str) -> Any:
    return {"goal": goal}


def price(goal: str) -> Any:
    return {"price": Path("price.txt")}


@tool("pay", idempotent=True)
def pay(amount: str, to: str = "Ada", *, key: str) -> str:
    """Pay somebody."""
    counter("pay")
    return key


@tool("forgot")
def forgot(amount: str) -> str:
    return amount


def played(node: Any, **more: Any) -> Played:
    graph = Graph("desk", Desk)
    graph.node("work", **({"then": END} | more))(node)
    return Harness(graph).play()


MISTAKES: list[tuple[Any, str]] = [
    (lambda s, c: {"gaol": "x"}, "no such channel; did you mean 'goal'? Those of Desk are goal,"),
    (lambda s, c: {"count": "3"}, "$.count: Input should be a valid integer, not str"),
    (lambda s, c: {"notes": [{"text": 3}]}, "$.notes[0].text: Input should be a valid string"),
    (lambda s, c: {"notes": Note(text="x")}, "$.notes: Input should be a valid list, not Note"),
    (lambda s, c: ["x"], "'work' must return a dict of channels or None, not list: return {'goal'"),
    (lambda s, c: s.notes.append(1), "read-only in a node: return {'notes': ...} instead"),
    (lambda s, c: setattr(s, "goal", "x"), "Instance is frozen"),
    (
        lambda s, c: c.activity(price, s.goal),
        "What 'price' returned cannot be kept: $.price: ",
    ),
    (
        lambda s, c: c.activity(look_up, {1}),
        "What 'look_up' is called with cannot be kept: ",
    ),
    (lambda s, c: c.activity(look_up("tea")), "not dict: write ctx.activity(look_up, goal), not"),
    (lambda s, c: c.activity(pay, "1"), "'pay' is a tool: call it with ctx.effect(...)"),
    (lambda s, c: c.activity(look_up, "x", key="k" * 200), "must have 1 to 190 characters"),
    (
        lambda s, c: c.effect(look_up, {}),
        "'look_up' is none: put @tool('look_up', undo",
    ),
    (lambda s, c: c.effect(pay, "1"), "the arguments of 'pay' as one dict by name, not str"),
    (lambda s, c: c.effect(forgot, {"amount": "1"}), "'forgot' takes no key: end its parameters"),
    (
        lambda s, c: c.effect(pay, {"sum": "1"}, gate=Gate("Pay?")),
        "'pay' cannot be called so: missing a required argument: 'amount'. It takes amount, to.",
    ),
    (
        lambda s, c: c.activity(look_up, {"rows": ["x"], "page": "x" * 9_000_000}),
        "What 'look_up' is called with cannot be kept: $.args[0].page: the whole has 9,000,",
    ),
    (lambda s, c: c.think("x", of={1}), "This thought cannot be kept: $.facts.of"),
    (lambda s, c: 1 // 0, "ZeroDivisionError: integer division or modulo by zero (test_advice.py,"),
]


@pytest.mark.parametrize(("node", "text"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_mistake_in_a_node_is_named_with_its_fix(node: Any, text: str) -> None:
    thread = played(node)
    assert thread.status == "failed", str(thread)
    assert text in thread.reason
    assert thread.reason.startswith("work: ")
    assert thread.state["goal"] == "tea"
    assert thread.approvals == []
    assert counter.count("pay") == 0


def test_the_line_is_that_of_the_authors_own_file() -> None:
    def deep(goal: str) -> None:
        raise KeyError("price")

    def work(state: Desk, ctx: Context) -> None:
        ctx.activity(deep, state.goal)

    line = work.__code__.co_firstlineno - 2
    assert f"KeyError: 'price' (test_advice.py, line {line})" in played(work).reason


def test_a_node_may_be_any_callable() -> None:
    class Works:
        def __call__(self, state: Desk, ctx: Context) -> None:
            raise KeyError(state.goal)

    assert played(Works()).reason == "work: raised KeyError: 'tea'"
    assert "KeyError: 'tea'" in played(functools.partial(Works().__call__)).reason


def test_a_way_that_leads_nowhere_is_named_with_those_there_are() -> None:
    def choose(state: Desk) -> Way:
        return Way("wrok", "why not")

    thread = played(lambda s, c: None, then=choose, ways=("work", END))
    assert thread.status == "failed"
    assert "The way after 'work' leads to 'wrok', which is not among its ways" in thread.reason
    with pytest.raises(GraphError, match="'work' leads to 'wrok', and there is no such node"):
        played(lambda s, c: None, then="wrok")


def test_two_writers_of_one_channel_are_told_to_name_a_reducer() -> None:
    graph = Graph("desk", Desk)
    graph.node("begin", then=("one", "two"))(lambda s, c: None)
    graph.node("one", then=END)(lambda s, c: {"goal": "a"})
    graph.node("two", then=END)(lambda s, c: {"goal": "b"})
    reason = Harness(graph).play().reason
    assert "$.goal: written more than once in one step; give it a reducer" in reason
    assert "(returned by one, two)" in reason


def test_an_undo_may_wait_and_what_it_returns_is_checked(tmp_path: Path) -> None:
    async def undo(args: dict[str, Any], result: Any, *, key: str) -> Any:
        return {"key": key} if args["to"] == "Ada" else Path("receipt.pdf")

    @tool("send", undo=undo)
    async def send(to: str, *, key: str) -> str:
        return to

    def sends(to: str) -> Played:
        return played(lambda s, c: {"goal": c.effect(send, {"to": to}).result})

    thread = sends("Ada")
    assert thread.state["goal"] == "Ada"
    assert thread.roll_back(to=0).status == "paused"
    assert thread.effects[0].undo_result["key"].startswith("undo:")
    thread = sends("Eve").roll_back(to=0)
    assert thread.status == "paused"
    (effect,) = thread.effects
    assert effect.state == "compensated"
    assert "What the undo of 'send' returned cannot be kept" in effect.undo_result["withheld"]


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), TypeError("'int' object is not subscriptable"), AttributeError("no 'items'"),
     IndexError("list index out of range"), ValueError("not enough values to unpack"),
     UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), ZeroDivisionError("by 0"),
     NameError("name 'x' is not defined"), AssertionError()],
)  # fmt: skip
def test_a_bug_of_ours_is_told_without_what_python_says_of_it(error: Exception) -> None:
    reason = engine_failure(error)
    assert reason.startswith("Gatepost itself failed at this step, not the agent. The worker's log")
    assert type(error).__name__ not in reason
    assert not str(error) or str(error) not in reason


def test_what_the_world_refused_is_told_as_it_is() -> None:
    assert "No space left" in engine_failure(OSError(28, "No space left on device"))
    assert engine_failure(StepFailed("The file is gone.")) == "The file is gone."
