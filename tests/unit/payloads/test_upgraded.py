"""Large values across an upgrade of the schema: moved by reference, on every store alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from checkpoints.state.schema import Upgrades
from checkpoints.states import Status
from workers.authoring.graph import END, Append, Graph, Merge, State, Sum
from workers.node.context import Context

from . import agents
from .agents import text_of
from .conftest import Storage
from .test_contract import at_the_gate, sha_of, states

pytestmark = [pytest.mark.requirement("B15"), pytest.mark.requirement("B39")]


class Second(State):
    """`text` is called `body`, and the first page stands by itself."""

    body: str = ""
    pages: Annotated[list[str], Append()] = []
    index: Annotated[dict[str, Any], Merge()] = {}
    done: Annotated[int, Sum()] = 0
    rounds: int = 4
    folder: str = ""
    printed: str = ""
    first: str = ""


upgrades = Upgrades()


@upgrades.step(1)
def to_body(state: dict[str, Any]) -> dict[str, Any]:
    text = state.pop("text")
    return {**state, "body": text, "first": next(iter(state["pages"]), "")}


def second_of(storage: Storage) -> Graph:
    """The agent as it is after its author's change."""
    former = storage.bench.agent.graph
    graph = Graph(
        former.name,
        Second,
        version=2,
        schema_version=2,
        upgrades=upgrades,
        payloads=former.payloads,
        on_code_change="go_on",
    )

    @graph.node(then="publish")
    def write(state: Second, ctx: Context) -> dict[str, Any]:
        activity = ctx.activity(agents.look_up, state.done)
        return {"body": text_of(activity["number"]), "pages": ["one more"], "done": 1}

    publish = agents.graph.nodes["publish"]
    graph.nodes["publish"] = replace(publish, then=END)
    return graph


@pytest.mark.slow
def test_a_large_value_gets_a_new_name_and_lies_there_once(
    storage: Storage, tmp_path: Path
) -> None:
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    before, lay, calls = states(storage, thread), storage.lies(thread), list(agents.calls)
    module = SimpleNamespace(__name__="books.second", __file__=__file__)
    bench.install(second_of(storage), agents.TOOLS, module)
    bench.decide(thread, "approve", "fine")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [*calls, "print_book"] == agents.calls
    head = bench.state(thread)
    assert (head["body"], head["first"]) == (text_of(3), "page 0")
    assert "text" not in head
    assert storage.lies(thread) == lay, "the same bytes under another name"
    (made,) = [c for c in bench.checkpoints(thread) if c.source == "upgrade"]
    delta = bench.checkpoint(thread, made.number).delta
    assert delta["put"] == {"body": {"sha256": sha_of(text_of(3)), "size": len(text_of(3)) + 2}}
    assert delta["unset"] == ["text"]
    # To both sides of the boundary: what was is read as it was, what comes is in the new form.
    fork = bench.fork(thread, 2, {})
    assert bench.state(fork) == before[2]
    assert bench.advance(fork).status is Status.WAITING
    assert bench.state(fork)["body"] == text_of(2)
    assert bench.state(fork)["pages"] == ["page 0", "page 1", "one more"]
    beyond = bench.fork(thread, made.number, {"body": "z" * agents.LARGE})
    assert bench.state(beyond)["body"] == "z" * agents.LARGE
    assert bench.roll_back(thread, 3).status is Status.PAUSED
    assert bench.state(thread) == before[3]
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["first"] == "page 0"
    assert {n: s for n, s in states(storage, thread).items() if n in before} == before
    assert all(bench.intact(one) for one in (thread, fork, beyond))
