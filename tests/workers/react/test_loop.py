"""A model calls tools in turns: what it is shown, what is recorded, what goes wrong."""

from __future__ import annotations

import datetime
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from gatepost import (
    Approve,
    Edit,
    Gate,
    GraphError,
    Harness,
    Reject,
    Reply,
    Request,
    Respond,
    Rule,
    Terms,
    ToolCall,
    current,
    react,
    tool,
)
from workers.code import registry
from workers.react.conversation import cut, in_order

from .models import by_turn, calls, results


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def look_up(city: str) -> dict[str, Any]:
    """Look up the weather of a city."""
    return {"city": city, "degrees": 7}


@tool("mail.send", idempotent=True)
def send(to: str, text: str = "", *, key: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


REVIEW = Gate("Send the mail?", risk="low")


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
    broken = Reply("", tool_calls=(ToolCall("x", "add", None, '{"a": 1', "It is no JSON."),))
    model = by_turn(broken, calls(("add", {"a": 1})), "2")
    thread = Harness(react(tools=[add])).play({"goal": "Add"}, model=model)
    assert thread.state["answer"] == "2"
    assert results(model.seen[1]) == ["Error: the arguments do not fit. It is no JSON."]
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


# ---- limits -------------------------------------------------------------------------------------


def endless(**more: Any) -> Callable[[Any], Any]:
    return by_turn(calls(("add", {"a": 1}), **more))


def test_turns_are_bounded_and_nothing_is_carried_out_beyond() -> None:
    model: Any = endless()
    thread = Harness(react(tools=[add], max_turns=3)).play({"goal": "Go"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "")
    assert thread.state["stopped"] == "The limit of 3 turns is reached."
    assert (len(model.seen), sum(a.tool == "add" for a in thread.activities)) == (3, 2)
    last = thread.state["messages"][-1]
    assert last["content"] == "Not carried out: The limit of 3 turns is reached."


@pytest.mark.parametrize(
    ("bound", "more", "stopped"),
    [
        (
            {"max_tokens": 250},
            {"tokens_in": 90, "tokens_out": 10},
            "The limit of 250 tokens is reached (300 used).",
        ),
        (
            {"max_cost": "0.025"},
            {"cost": "0.01"},
            "The limit of 0.025 dollars is reached (0.03 spent).",
        ),
    ],
    ids=["tokens", "money"],
)
def test_tokens_and_money_are_bounded(bound: Any, more: Any, stopped: str) -> None:
    model: Any = endless(**more)
    thread = Harness(react(tools=[add], **bound)).play({"goal": "Go"}, model=model)
    assert (thread.status, thread.state["stopped"]) == ("succeeded", stopped)
    assert len(model.seen) == 3
    assert thread.state["tokens"] == 3 * (more.get("tokens_in", 0) + more.get("tokens_out", 0))
    assert Decimal(thread.state["cost"]) == 3 * Decimal(more.get("cost", "0"))


def test_an_unpriced_model_ends_a_loop_with_a_limit_in_dollars() -> None:
    model: Any = endless(cost=None)
    thread = Harness(react(tools=[add], max_cost="1")).play({"goal": "Go"}, model=model)
    assert thread.state["stopped"].startswith("The price of test-1 is not known")
    assert len(model.seen) == 1


@pytest.mark.parametrize("reason", ["length", "refusal"])
def test_an_answer_that_is_none_is_named(reason: str) -> None:
    thread = Harness(react()).play(
        {"goal": "Go"}, model=by_turn(Reply("I will", finish_reason=reason))
    )
    assert thread.state["stopped"]


# ---- what does not fit --------------------------------------------------------------------------


def without(a: int) -> int:
    return a


def named(key: str) -> str:
    """Take a key."""
    return key


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"tools": [without]}, "'without' needs a docstring"),
        ({"tools": [lambda a: a]}, "needs a name"),
        ({"tools": [named]}, "has an argument 'key'"),
        ({"tools": [add, add]}, "two tools named 'add'"),
        ({"tools": ["add"]}, "takes functions and tools, not str"),
        ({"tools": [add], "gates": {"add": REVIEW}}, "gate before 'add', which is a plain"),
        ({"tools": [add], "gates": {"sub": REVIEW}}, "gate before 'sub', and no such tool"),
        ({"model": 3}, "model=3"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"max_cost": 0.5}, "max_cost=0.5"),
        ({"calls_at_once": 65}, "calls_at_once=65"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_a_model_cannot_be_shown_is_refused(arguments: Any, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        react(**arguments)


def test_a_start_without_a_question_says_so() -> None:
    thread = Harness(react()).play({}, model=["x"])
    assert (thread.status, "There is nothing to answer" in thread.reason) == ("failed", True)


# ---- history ------------------------------------------------------------------------------------


def recorded_bytes(number: int) -> int:
    """All that is recorded of a loop of so many turns."""
    model = by_turn(*[calls(("look_up", {"city": "x" * 200}))] * number, "done")
    graph = react(tools=[look_up], max_turns=number + 1)
    thread = Harness(graph).play({"goal": "Go"}, model=model)
    assert thread.state["answer"] == "done"
    rows = [[a.args, a.result] for a in thread.activities if a.kind != "node"]
    return len(deltas.canonical([rows, [c.delta for c in thread.checkpoints]]))


@pytest.mark.slow
@pytest.mark.requirement("C08")
def test_a_conversation_grows_by_what_is_said() -> None:
    short, long = recorded_bytes(20), recorded_bytes(80)
    assert long < 4.2 * short


@pytest.mark.requirement("E10")
def test_older_messages_are_summarised_at_a_threshold_and_shown_as_such() -> None:
    answers = iter([calls(("look_up", {"city": f"{n}" * 400})) for n in range(12)] + ["done"])
    seen: list[Request] = []

    def model(request: Request) -> Any:
        if "shorten" in request.system:
            assert request.tools == ()
            return Reply(f"SUM{request.chat[0]['content'].count('[tool]')}", model="test-1")
        seen.append(request)
        return next(answers)

    graph = react(tools=[look_up], summarise_at=1500, keep=4)
    thread = Harness(graph).play({"goal": "Go"}, model=model)
    assert (thread.status, thread.state["answer"]) == ("succeeded", "done"), thread.reason
    summary = thread.state["summary"]
    assert summary["text"].startswith("SUM")
    assert 10 < summary["messages"] < len(thread.state["messages"]) == 26
    first = seen[-1].chat[0]
    assert first["content"].startswith(f"Summary of the first {summary['messages']} messages")
    assert max(len(deltas.canonical(list(r.chat))) for r in seen) < 10_000
    rows = [a for a in thread.activities if a.kind == "model" and "summarise" in a.key]
    assert rows
    assert all(a.result["text"].startswith("SUM") for a in rows)
    thoughts = [e.data["text"] for e in thread.events if e.kind == "thought.recorded"]
    assert len(thoughts) == len(rows)
    assert "the model is shown the summary" in thoughts[0]
    for request in seen:
        roles = [m["role"] for m in request.chat]
        assert roles[0] == "user"
        for at, role in enumerate(roles):
            assert role != "tool" or roles[at - 1] in ("assistant", "tool")


def test_a_long_result_is_shown_in_part_and_recorded_whole() -> None:
    def read() -> str:
        """Read it."""
        return "x" * 500

    model = by_turn(calls(("read", {})), "done")
    thread = Harness(react(tools=[read], result_characters=100)).play({"goal": "Go"}, model=model)
    assert results(model.seen[1]) == ["x" * 100 + "\n[400 more characters are not shown]"]
    assert [len(a.result) for a in thread.activities if a.tool == "read"] == [500]


def message_of(role: str, *ids: str) -> dict[str, Any]:
    if role == "tool":
        return {"role": role, "content": "", "tool_call_id": ids[0]}
    made = [{"id": i, "name": "add", "arguments": {}} for i in ids]
    return {"role": role, "content": "", **({"tool_calls": made} if made else {})}


def test_a_message_that_came_while_tools_worked_is_shown_behind_their_results() -> None:
    messages = [
        *(message_of("user"), message_of("assistant", "a", "b"), message_of("user")),
        *(message_of("tool", "a"), message_of("tool", "b"), message_of("assistant")),
    ]
    roles = [m["role"] for m in in_order(messages)]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [cut(messages, keep) for keep in range(1, 7)] == [5, 1, 1, 1, 1, 0]


# ---- chat ---------------------------------------------------------------------------------------


@pytest.mark.requirement("C08")
def test_a_chat_goes_on_with_each_message_until_a_person_ends_it() -> None:
    model = by_turn("Hello", calls(("add", {"a": 1})), "2", "Bye")
    thread = Harness(react(tools=[add], chat=True)).play({"goal": "Hi"}, model=model)
    assert (thread.status, [a.title for a in thread.open]) == ("waiting", ["Hello"])
    thread.decide(Respond("1 + 1?"))
    assert (thread.status, [a.title for a in thread.open]) == ("waiting", ["2"])
    thread.decide(Respond("Thanks"))
    thread.decide(Reject("enough"))
    assert (thread.status, thread.state["answer"]) == ("succeeded", "Bye")
    assert thread.state["stopped"] == "The conversation was ended."
    texts = [m["content"] for m in thread.state["messages"] if m["role"] == "user"]
    assert texts == ["Hi", "1 + 1?", "Thanks"]


@pytest.mark.requirement("E10")
def test_a_long_chat_is_summarised_while_it_waits() -> None:
    shown: list[int] = []

    def model(request: Request) -> Any:
        if "shorten" in request.system:
            return "They talked."
        shown.append(len(deltas.canonical(list(request.chat))))
        return f"Answer {len(shown)} " + "x" * 400

    thread = Harness(react(chat=True, summarise_at=1000, keep=4)).play({"goal": "Hi"}, model=model)
    for number in range(30):
        assert thread.status == "waiting", thread.reason
        thread.decide(Respond(f"And {number}? " + "y" * 400))
    assert thread.state["summary"]["text"] == "They talked."
    assert 40 < thread.state["summary"]["messages"] < len(thread.state["messages"]) == 62
    assert max(shown) < 8_000
