"""What an author hands to a tool or shows to a model is held to the types of the functions."""

from __future__ import annotations

from typing import Any

import pytest

from gatepost import END, Context, Graph, Harness, Played, Reply, State, ToolCall, tool

done: list[Any] = []


class Work(State):
    args: dict[str, Any] = {}
    out: list[Any] = []


@tool("typed.pay", undo=None, idempotent=True)
def pay(amount: int, lines: list[dict[str, str]] | None = None, *, key: str) -> int:
    """Pay an amount."""
    done.append(amount)
    return amount


@tool("typed.open", undo=None, idempotent=True)
def write(*, key: str, **fields: Any) -> int:
    """Write fields."""
    return len(fields)


def find_order(number: int, words: list[str] = []) -> dict[str, str]:  # noqa: B006
    """Find an order.

    By its number.
    """
    return {"item": "kettle"}


def paid(args: dict[str, Any], called: Any = pay) -> Played:
    graph = Graph("typed-calls", Work)

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> dict[str, Any]:
        return {"out": [ctx.effect(called, dict(state.args)).result]}

    done.clear()
    return Harness(graph).play({"args": args})


@pytest.mark.requirement("F05")
@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"amount": "1"}, "$.amount: '1' is not of type 'integer'"),
        ({"amount": 1.5}, "$.amount: 1.5 is not of type 'integer'"),
        ({"amount": True}, "$.amount: True is not of type 'integer'"),
        ({"amount": None}, "$.amount: None is not of type 'integer'"),
        ({"amount": 1, "lines": "many"}, "$.lines: 'many' is not valid under any of the given"),
    ],
)
def test_an_effect_is_not_begun_with_arguments_of_other_types(
    args: dict[str, Any], fault: str
) -> None:
    thread = paid(args)
    assert thread.status == "failed"
    assert f"What 'typed.pay' is called with does not fit its types: {fault}" in thread.reason
    assert (done, thread.effects) == ([], [])


def test_what_fits_is_carried_out() -> None:
    assert paid({"amount": 1, "lines": [{"payee": "Ada"}]}).state["out"] == [1]
    assert paid({"a": 1, "b": "x"}, write).state["out"] == [2]


@pytest.mark.requirement("F05")
def test_a_model_is_shown_a_function_by_its_types() -> None:
    graph = Graph("shown-functions", Work)
    shown: list[Any] = []

    def model(request: Any) -> Reply:
        shown.extend(request.tools)
        calls = (ToolCall("1", "find_order", {"number": "7"}),)
        return Reply("", tool_calls=calls)

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> dict[str, Any]:
        messages = [{"role": "user", "content": "Where is it?"}]
        answer = ctx.model(messages=messages, tools=[find_order])
        return {"out": [answer.tool_calls[0].error]}

    thread = Harness(graph).play(model=model)
    assert thread.status == "succeeded", thread.reason
    assert shown[0]["name"] == "find_order"
    assert shown[0]["description"] == "Find an order.\n\nBy its number."
    assert shown[0]["schema"]["required"] == ["number"]
    assert thread.state["out"] == ["$.number: '7' is not of type 'integer'"]


def test_a_function_without_a_name_is_refused() -> None:
    graph = Graph("nameless", Work)

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> None:
        ctx.model(messages=[{"role": "user", "content": "x"}], tools=[lambda number: number])

    assert "$.tools[0] needs a name" in Harness(graph).play(model=["x"]).reason


@pytest.mark.requirement("F05")
def test_an_unknown_cost_is_none_in_each_form_of_reading() -> None:
    graph = Graph("unpriced", Work)

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> dict[str, Any]:
        usage = ctx.model(messages=[{"role": "user", "content": "x"}]).usage
        names = ("cost", "tokens_cached", "request_id")
        return {"out": [usage.cost, usage.tokens, usage.model, *map(usage.__getitem__, names)]}

    def play(reply: Reply) -> list[Any]:
        result: list[Any] = Harness(graph).play(model=[reply]).state["out"]
        return result

    assert play(Reply("a", "tiny-1", 3, 4)) == [None, 7, "tiny-1", None, 0, ""]
    assert play(Reply("a", "tiny-1", 3, 4, "0.25")) == ["0.25", 7, "tiny-1", "0.25", 0, ""]
