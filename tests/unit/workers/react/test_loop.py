"""A model calls tools in turns: what it is shown, what is recorded, what goes wrong."""

from __future__ import annotations

import datetime
import sys
import threading
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from checkpoints.errors import InvalidValue
from checkpoints.state.marked import large_part
from gatepost import (
    Approve,
    Edit,
    Harness,
    Reject,
    Reply,
    Rule,
    Terms,
    ToolCall,
    current,
    react,
    tool,
)
from workers.code import registry
from workers.step.results import RECORD_BYTES

from .models import by_turn, calls, results
from .tools import REVIEW, add, look_up, send


@pytest.mark.requirement("C36")
def test_a_question_takes_turns_to_its_answer() -> None:
    model = by_turn(
        calls(("add", {"a": 2, "b": 3})), calls(("look_up", {"city": "Bonn"})), "5 and cold"
    )
    thread = Harness(react(tools=[add, look_up], instructions="Be brief.")).play(
        {"goal": "How warm?"}, model=model
    )
    assert (thread.status, thread.state["answer"]) == ("succeeded", "5 and cold"), thread.reason
    assert [m["role"] for m in thread.state["messages"]] == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert [r.system for r in model.seen] == ["Be brief."] * 3
    assert results(model.seen[1]) == ["5"]
    assert results(model.seen[2]) == ['{"city":"Bonn","degrees":7}']
    # Each model call is a save point, each tool call an activity, each with a checkpoint behind.
    kinds = [(a.kind, a.tool) for a in thread.activities if a.kind != "node"]
    assert kinds == [
        *(("model", "model"), ("activity", "add"), ("model", "model")),
        *(("activity", "look_up"), ("model", "model")),
    ]
    nodes = [c.nodes for c in thread.checkpoints if c.source == "step"]
    assert nodes == [("model",), ("call_1",), ("model",), ("call_1",), ("model",)]


def test_tools_are_shown_by_name_docstring_and_types() -> None:
    class Stay(BaseModel):
        name: str
        days: int = Field(default=1, ge=1)

    def visit(
        places: list[Stay],
        on: datetime.date,
        why: Annotated[str, Field(description="in a word")] = "",
    ) -> str:
        """Plan a visit.

        Two lines.
        """
        return f"{places[0].name} {places[0].days} {on.year}"

    visit.__annotations__ |= {"places": list[Stay]}
    model = by_turn(
        calls(
            ("visit", {"places": [{"name": "Bonn", "days": 0}], "on": "2026-01-01"}),
            ("visit", {"places": [{"name": "Bonn", "days": 2}], "on": "2026-13-01"}),
            ("visit", {"places": [{"name": "Bonn", "days": 2}], "on": "2026-01-01"}),
        ),
        "done",
    )
    thread = Harness(react(tools=[visit, send])).play({"goal": "Where?"}, model=model)
    assert thread.status == "succeeded", thread.reason
    visited, sent = model.seen[0].tools
    assert (visited["name"], visited["description"]) == ("visit", "Plan a visit.\n\nTwo lines.")
    assert visited["schema"]["required"] == ["places", "on"]
    assert visited["schema"]["properties"]["why"]["description"] == "in a word"
    assert visited["schema"]["$defs"]["Stay"]["properties"]["days"]["minimum"] == 1
    assert (sent["name"], sorted(sent["schema"]["properties"])) == ("mail.send", ["text", "to"])
    first, second, third = results(model.seen[1])
    assert first.startswith("Error: the arguments do not fit. $.places[0].days: 0 is less than")
    assert second.startswith("Error: the arguments do not fit. $.on: ")
    assert third == "Bonn 2 2026"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("add", {"a": "two"}), "$.a: 'two' is not of type 'integer'"),
        (("add", {}), "$: 'a' is a required property"),
        (("add", {"a": 1, "c": 2}), "'c' was unexpected"),
        (("ad", {"a": 1}), "There is no tool 'ad'|there is no tool 'ad'. The tools are: add"),
        (("fail", {}), "Error: ValueError: no such city"),
    ],
    ids=["type", "missing", "unknown argument", "unknown tool", "raises"],
)
def test_what_is_wrong_goes_back_to_the_model(call: tuple[str, Any], expected: str) -> None:
    def fail() -> None:
        """Fail."""
        raise ValueError("no such city")

    model = by_turn(calls(call), calls(("add", {"a": 1})), "2")
    thread = Harness(react(tools=[add, fail])).play({"goal": "Add"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "2"), thread.reason
    (text,) = results(model.seen[1])
    assert any(part in text for part in expected.split("|")), text
    assert results(model.seen[2]) == ["2"]


def test_an_error_goes_back_without_the_secret_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "sk-0123456789abcdef")

    def charge() -> None:
        """Charge."""
        raise ValueError(f"401 for {current().secret('SHOP_KEY')}")

    model = by_turn(calls(("charge", {})), "It failed.")
    thread = Harness(react(tools=[charge])).play({"goal": "Go"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "It failed."), thread.reason
    (text,) = results(model.seen[1])
    assert text.startswith("Error: ValueError: 401 for ")
    assert "sk-0" not in text


def test_arguments_that_are_no_json_go_back_to_the_model() -> None:
    broken = Reply("", tool_calls=(ToolCall("x", "add", None, '{"a": 1', "It is not JSON."),))
    model = by_turn(broken, calls(("add", {"a": 1})), "2")
    thread = Harness(react(tools=[add])).play({"goal": "Add"}, model=model)
    assert thread.state["answer"] == "2"
    assert results(model.seen[1]) == ["Error: the arguments do not fit. It is not JSON."]
    assert thread.state["messages"][1]["tool_calls"][0]["raw"] == '{"a": 1'


@pytest.mark.requirement("C36")
def test_calls_of_one_answer_are_carried_out_together() -> None:
    together = threading.Barrier(4, timeout=10)

    def meet(name: str) -> str:
        """Meet the others."""
        together.wait()
        return name

    model = by_turn(calls(*(("meet", {"name": n}) for n in "abcd")), "met")
    thread = Harness(react(tools=[meet])).play({"goal": "Meet"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "met"), thread.reason
    assert results(model.seen[1]) == list("abcd")
    assert [c.nodes for c in thread.checkpoints if len(c.nodes) > 1] == [
        ("call_1", "call_2", "call_3", "call_4")
    ]


@pytest.mark.parametrize("number", [1, 3, 7])
def test_more_calls_than_at_once_are_all_carried_out(number: int) -> None:
    model = by_turn(calls(*(("add", {"a": n}) for n in range(number))), "added")
    thread = Harness(react(tools=[add], calls_at_once=3)).play({"goal": "Add"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "added"), thread.reason
    assert results(model.seen[1]) == [str(n + 1) for n in range(number)]
    assert len(model.seen) == 2


THREE = [("mail.send", {"to": name}) for name in ("ada", "ben", "eve")]


@pytest.mark.requirement("C36")
def test_two_of_three_approved_and_one_rejected_goes_on_once() -> None:
    sent: list[str] = []

    def deliver(to: str, text: str = "", *, key: str) -> str:
        sent.append(to)
        return f"sent to {to}"

    model = by_turn(calls(*THREE), "done")
    harness = Harness(
        react(tools=[send], gates={"mail.send": REVIEW}), tools={"mail.send": deliver}
    )
    thread = harness.play({"goal": "Mail"}, model=model)
    assert (thread.status, len(thread.open), sent) == ("waiting", 3, [])
    thread.decide(Approve(), "call_3")
    assert (thread.status, len(thread.open)) == ("waiting", 2)
    thread.decide(Reject("he left"), "call_2")
    assert (thread.status, len(thread.open), len(model.seen)) == ("waiting", 1, 1)
    thread.decide(Edit({"to": "ada", "text": "Hi"}, comment="politely"))
    assert (thread.status, thread.state["answer"]) == ("succeeded", "done"), thread.reason
    assert sorted(sent) == ["ada", "eve"]
    ada, ben, eve = results(model.seen[1])
    assert ada.startswith("sent to ada\n\nreviewer changed the arguments to ")
    assert ada.endswith("reviewer: politely")
    assert (ben, eve) == ("Rejected by reviewer, not carried out: he left", "sent to eve")


def test_a_policy_gates_a_tool_that_its_author_did_not() -> None:
    model = by_turn(calls(THREE[0], ("add", {"a": 1})), "done")
    mails = Rule("ask", "mails@1", "mails", Terms())
    harness = Harness(react(tools=[send, add]), policy=lambda _: mails)
    thread = harness.play({"goal": "Mail"}, model=model)
    assert thread.status == "waiting"
    assert [a.tool for a in thread.activities if a.kind == "activity"] == ["add"]
    thread.decide(Approve())
    assert results(model.seen[1]) == ["sent to ada", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("after", range(1, 16))
def test_a_worker_lost_at_any_write_calls_nothing_twice(after: int) -> None:
    done: list[str] = []

    def note(name: str) -> str:
        """Note it."""
        done.append(name)
        return name

    model = by_turn(
        calls(("note", {"name": "a"}), ("note", {"name": "b"})),
        calls(("note", {"name": "c"}), THREE[0]),
        "done",
    )
    harness = Harness(react(tools=[note, send], calls_at_once=1), stop_after=after)
    thread = harness.play({"goal": "Go"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "done"), thread.reason
    assert (done, len(model.seen)) == (["a", "b", "c"], 3)


def test_a_tool_that_stands_in_no_module_is_undone() -> None:
    undone: list[Any] = []

    def take_back(args: Any, result: Any, *, key: str) -> None:
        undone.append(args)

    @tool("mail.post", undo=take_back, idempotent=True)
    def post(to: str, *, key: str) -> str:
        """Post a letter."""
        return to

    module = ModuleType("letters")
    module.graph = graph = react("letters", tools=[post])  # type: ignore[attr-defined]
    sys.modules["letters"] = module
    try:
        ((_, tools, _),) = registry.discover(["letters"])
    finally:
        del sys.modules["letters"]
    assert tools == {"mail.post": post}
    model = by_turn(calls(("mail.post", {"to": "ada"})), "posted")
    thread = Harness(graph).play({"goal": "Post"}, model=model)
    assert (thread.status, undone) == ("succeeded", [])
    thread.roll_back(1)
    assert undone == [{"to": "ada"}]
    assert len(thread.resume().state["messages"]) == 4
    # What the model answered to the same question is not asked again.
    assert (thread.state["answer"], len(model.seen)) == ("posted", 2)


def test_a_message_of_a_person_joins_a_loop_that_waits() -> None:
    model = by_turn(calls(THREE[0]), "sent, and hello")
    thread = Harness(react(tools=[send], gates={"mail.send": REVIEW})).play(
        {"messages": [{"role": "user", "content": "Mail ada"}]}, model=model
    )
    thread.send({"role": "user", "content": "And say hello"})
    thread.decide(Approve())
    assert (thread.status, thread.state["answer"]) == ("succeeded", "sent, and hello")
    assert [m["role"] for m in model.seen[1].chat] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "message",
    [{"role": "root", "content": ""}, {"role": "user"}, {"role": "user", "content": "", "x": 1}],
    ids=["role", "content", "more"],
)
def test_a_message_that_is_none_is_refused_with_its_path(message: Any) -> None:
    with pytest.raises(InvalidValue, match=r"\$\.messages\[0\]"):
        Harness(react()).play({"messages": [message]}, model=["x"])


@pytest.mark.requirement("F03")
def test_a_result_larger_than_a_record_is_cut_for_the_model() -> None:
    def read() -> str:
        """Read a large file."""
        return "x" * (RECORD_BYTES + 1)

    model = by_turn(calls(("read", {})), "read")
    thread = Harness(react(tools=[read])).play({"goal": "Read it."}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "read"), thread.reason
    (text,) = results(model.seen[1])
    assert text.endswith(" more characters are not shown]")
    (call,) = [a for a in thread.activities if a.tool == "read"]
    assert large_part(call.result) is not None
