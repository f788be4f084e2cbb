"""The conversation of a loop: what is recorded of it, when it is summarised, how a chat goes on."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.state import deltas
from gatepost import (
    Harness,
    Reject,
    Reply,
    Request,
    Respond,
    react,
)
from workers.react.conversation import cut, in_order

from .models import by_turn, calls, results
from .tools import add, look_up

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
