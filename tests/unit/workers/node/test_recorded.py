"""`ctx.recorded` and `ctx.record`: the results of what a framework called by itself."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from gatepost import END, Append, Context, Edit, Gate, Graph, Harness, Respond, State, tool

calls: list[str] = []


class Work(State):
    goal: str = "tea"
    notes: Annotated[list[str], Append()] = []


def adapter(name: str) -> Graph:
    """A graph whose node calls functions by itself and records their results, as adapters do."""
    graph = Graph(name, Work)

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> dict[str, Any]:
        results = []
        for key in ("a", "b"):
            known = ctx.recorded("look", {"goal": state.goal}, key=key)
            if not known:
                calls.append(f"{key} {state.goal}")
                known = [f"saw {key} {state.goal}"]
                ctx.record("look", {"goal": state.goal}, known[0], key=key)
            results += known
        answer = ctx.ask("Right?", key="right")
        return {"notes": [*results, answer.value]}

    return graph


@pytest.fixture(autouse=True)
def no_calls() -> None:
    calls.clear()


@pytest.mark.parametrize("n", range(1, 7))
def test_what_is_recorded_answers_after_a_kill(n: int) -> None:
    thread = Harness(adapter("adapter"), stop_after=n).play(decide=Respond("yes"))
    assert thread.state["notes"] == ["saw a tea", "saw b tea", "yes"]
    assert sorted(set(calls)) == ["a tea", "b tea"]
    assert len(calls) <= 3
    looked = [(a.tool, a.result) for a in thread.activities if a.tool == "look"]
    assert looked == [("look", "saw a tea"), ("look", "saw b tea")]


def test_nothing_is_called_again_after_a_stop_for_people() -> None:
    thread = Harness(adapter("adapter")).play()
    assert thread.status == "waiting"
    thread.decide(Respond("yes"))
    assert thread.state["notes"][-1] == "yes"
    assert calls == ["a tea", "b tea"]


def test_it_answers_only_for_the_same_arguments() -> None:
    thread = Harness(adapter("adapter")).play()
    thread.edit({"goal": "milk"})
    thread.resume(decide=Respond("yes"))
    assert thread.state["notes"] == ["saw a milk", "saw b milk", "yes"]


def test_a_key_identifies_an_effect_whatever_the_order() -> None:
    done: list[tuple[str, str]] = []

    @tool("send", idempotent=True)
    def send(to: str, *, key: str) -> str:
        done.append((to, key))
        return to

    graph = Graph("sends", Work, tools=[send])
    orders = [["Ada", "Bea"], ["Bea", "Ada"], ["Ada", "Bea"]]

    @graph.node(then=END)
    def work(state: Work, ctx: Context) -> dict[str, Any]:
        order = orders.pop(0)
        results = [
            ctx.effect(send, {"to": to}, gate=Gate(f"To {to}?"), key=f"send:{to}").result
            for to in order
        ]
        return {"notes": sorted(results)}

    thread = Harness(graph).play()
    assert [request.title for request in thread.open] == ["To Ada?"]
    thread.decide("approve")
    assert [request.title for request in thread.open] == ["To Bea?"]
    thread.decide(Edit({"to": "Eve"}))
    assert thread.state["notes"] == ["Ada", "Eve"]
    assert [to for to, _ in done] == ["Ada", "Eve"]
