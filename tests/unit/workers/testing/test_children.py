"""A harness plays children too, by the engine that works in a worker."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tests.unit.workers.tree.agents import editor, lead, mapping, reader, researcher, writer
from workers.authoring.graph import END, Encrypted, Graph, State
from workers.node.context import Context
from workers.testing.harness import Harness

FILES = [f"file-{n}" for n in range(10)]
BAD = ["file-2", "file-5", "file-9"]


@pytest.mark.parametrize("graph", [lead, mapping], ids=["spawn", "map"])
def test_children_play_along(graph: object) -> None:
    thread = Harness(graph, agents=[reader]).play(  # type: ignore[arg-type]
        {"files": FILES, "bad": BAD, "failures": "list", "at_most": 2}
    )
    assert thread.status == "succeeded"
    assert thread.state["texts"] == [file.upper() for file in FILES if file not in BAD]
    assert len(thread.state["listed"]) == 3
    assert [child.status for child in thread.children].count("failed") == 3
    assert thread.kinds.count("child.joined") == 1
    for played in (thread, *thread.children):
        assert played.verify() > 2


@pytest.mark.parametrize("need", ["any", 3])
def test_the_rest_works_on_when_enough_have_succeeded(need: str | int) -> None:
    thread = Harness(lead, agents=[reader]).play({"files": FILES, "need": need})
    assert thread.status == "succeeded"
    assert len(thread.state["texts"]) == (1 if need == "any" else 3)


def test_a_worker_that_is_lost_after_any_write_starts_nobody_twice() -> None:
    """After each write in turn, of parent and children alike."""
    lost = 0
    for stop_after in range(1, 16):
        harness = Harness(mapping, agents=[reader], stop_after=stop_after)
        thread = harness.play({"files": FILES[:3], "at_most": 2})
        assert thread.status == "succeeded"
        assert thread.state["texts"] == [file.upper() for file in FILES[:3]]
        assert len(thread.children) == 3
        assert len(thread.children) == 3
        played = (thread, *thread.children)
        lost += any("lease.taken_over" in one.kinds for one in played)
    assert lost == 2  # in all others it had just left the thread


def test_time_is_over() -> None:
    thread = Harness(lead, agents=[reader]).play(
        {"files": ["a"], "within": 60.0, "failures": "list"}
    )
    assert thread.state["texts"] == ["A"]


def test_an_agent_that_does_not_play_along_is_named() -> None:
    thread = Harness(mapping).play({"files": ["a"]})
    assert thread.status == "failed"
    assert "No agent named 'reader' plays along" in thread.reason


def test_a_hand_off_plays_on() -> None:
    thread = Harness(researcher, agents=[writer]).play({"goal": "tea"})
    heir = thread.successor
    assert heir is not None
    assert (thread.status, heir.status) == ("succeeded", "succeeded")
    assert heir.state["text"] == "WARM: TEA GROWS, HANDED OVER"
    assert heir.state["goal"] == "tea"
    assert heir.verify() > 2


@pytest.mark.parametrize("stop_after", [None, *range(1, 8)])
def test_children_that_hand_over_are_joined(stop_after: int | None) -> None:
    harness = Harness(editor, agents=[researcher, writer], stop_after=stop_after)
    thread = harness.play({"goals": ["tea", "bad"]})
    assert thread.state["texts"] == ["WARM: TEA GROWS, HANDED OVER"]
    assert "no words" in thread.state["listed"][0]
    assert len(thread.children) == 2


class Secret(State):
    word: Annotated[str, Encrypted(readers=("admin",))] = ""


teller = Graph("teller", Secret)


@teller.node(then=END)
def tell(state: Secret, ctx: Context) -> dict[str, Any]:
    return {"word": state.word.upper()}


class Asker(State):
    word: str = ""


asker = Graph("asker", Asker)


@asker.node(then=END)
def ask(state: Asker, ctx: Context) -> dict[str, Any]:
    child = ctx.spawn("teller", {"word": "tea"})
    return {"word": ctx.join([child]).results[0]["word"]}


def test_encrypted_channels_of_a_child_are_plain_in_a_play() -> None:
    thread = Harness(asker, agents=[teller]).play()
    assert (thread.status, thread.state) == ("succeeded", {"word": "TEA"})
    assert thread.children[0].state == {"word": "TEA"}
