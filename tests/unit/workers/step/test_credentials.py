"""A credential that an agent makes or meets is refused at each of its entries; nothing has it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from gatepost import (
    END,
    Append,
    Context,
    Gate,
    Graph,
    GraphError,
    Harness,
    Reply,
    State,
    current,
    tool,
)

CANARY = "glpat-" + "C4n4ryC4n4ryC4n4ryC4"
KEYED = {"password": "hunter2-hunter2"}


class Note(State):
    text: str = ""
    key: str = ""
    items: Annotated[list[str], Append()] = []
    headers: dict[str, str] = {}


def look_up(goal: Any) -> Any:
    """Answers what it was asked."""
    return {"about": goal}


def answer(*_: Any) -> dict[str, Any]:
    return {"rows": [{"token": CANARY}]}


def fail(*_: Any) -> None:
    raise RuntimeError(f"the service refused {CANARY}")


@tool("mail.send", describe=lambda args: f"Mail {args['to']}")
def send(*, to: str, key: str) -> str:
    """Send a mail."""
    return "sent"


@tool("mail.leak")
def leak(*, to: str, key: str) -> str:
    """Send a mail and answer too much."""
    return f"sent with {CANARY}"


def play(call: Any, **options: Any) -> Any:
    graph = Graph("noting", Note, **options)
    graph.node("work", then=END)(lambda state, ctx: call(ctx))
    thread = Harness(graph).play()
    record = json.dumps([e.data for e in thread.events]) + json.dumps(thread.state) + thread.reason
    record += "".join(f"{a.args}{a.result}{a.error}" for a in thread.activities)
    if not options:
        assert CANARY not in record
        assert KEYED["password"] not in record
    return thread


ENTRIES: dict[str, tuple[Any, str]] = {
    "update": (lambda ctx: {"text": CANARY}, "The update holds what looks like a GitLab token at"),
    "item": (lambda ctx: {"items": ["a", f"b {CANARY}"]}, "a GitLab token at $.items[1]"),
    "name": (lambda ctx: {"headers": KEYED}, "a credential named 'password' at $.headers.password"),
    "args": (lambda ctx: ctx.activity(look_up, [CANARY]), "is called with holds what looks like"),
    "kwargs": (lambda ctx: ctx.activity(look_up, goal=KEYED), "at $.kwargs.goal.password"),
    "result": (
        lambda ctx: ctx.activity(answer),
        "'answer' returned holds what looks like",
    ),
    "effect": (lambda ctx: ctx.effect(send, {"to": CANARY}), "'mail.send' is called with holds"),
    "gated": (
        lambda ctx: ctx.effect(send, {"to": CANARY}, gate=Gate("Mail it?")),
        "'mail.send' is called with holds",
    ),
    "gate": (
        lambda ctx: ctx.effect(send, {"to": "a"}, gate=Gate(f"Mail {CANARY}?")),
        "What the gate before 'mail.send' says holds",
    ),
    "effect's result": (lambda ctx: ctx.effect(leak, {"to": "a"}), "'mail.leak' returned holds"),
    "question": (lambda ctx: ctx.ask(f"Is {CANARY} right?"), "What this question says holds"),
    "thought": (lambda ctx: ctx.think(f"I have {CANARY}"), "This thought holds what looks like"),
    "facts": (lambda ctx: ctx.think("I know", **KEYED), "This thought holds what looks like"),
    "file": (
        lambda ctx: ctx.artifact(f"{CANARY}.txt", b"x", "text/plain"),
        "A file's name holds what looks like",
    ),
    "hand-off": (
        lambda ctx: ctx.hand_off("noting", {"text": CANARY}),
        "What is handed over to 'noting' holds what looks like",
    ),
    "child": (lambda ctx: ctx.spawn("noting", {"text": CANARY}), "are started with holds what"),
    "progress": (
        lambda ctx: ctx.activity(lambda: current().progress(1, 2, f"at {CANARY}")),
        "This progress holds what looks like",
    ),
    "cursor": (
        lambda ctx: ctx.activity(lambda: current().progress(1, 2, cursor={"at": CANARY}, every=1)),
        "This cursor holds what looks like",
    ),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_is_refused_with_its_path(entry: str) -> None:
    call, reason = ENTRIES[entry]
    updates = ("update", "item", "name")
    thread = play(call if entry in updates else lambda ctx: call(ctx) and {})
    assert thread.status == "failed", thread.reason
    assert reason in thread.reason
    assert "leave it out" in thread.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(f"use {CANARY}", tokens_in=7), "'model' returned holds what looks like"),
        (Reply("fine", reasoning=f"I know {CANARY}", tokens_in=7), "What the model thought holds"),
    ],
    ids=["answer", "thought"],
)
def test_a_model_that_says_one_has_not_answered(reply: Any, reason: str) -> None:
    thread = play(lambda ctx: {"text": ctx.model("hello")}, model=lambda request: reply)
    assert thread.status == "failed"
    assert reason in thread.reason
    assert CANARY not in json.dumps([e.data for e in thread.events])
    assert [a.usage["tokens"] for a in thread.activities] == [7], "it was paid for all the same"


@pytest.mark.parametrize("call", [fail, lambda: fail()], ids=["function", "lambda"])
def test_an_error_is_masked(call: Any) -> None:
    thread = play(lambda ctx: ctx.activity(call))
    assert thread.status == "failed"
    assert "the service refused ***" in thread.reason


def test_so_is_what_a_schema_refuses() -> None:
    thread = play(lambda ctx: {"items": {"no list": CANARY}})
    assert thread.status == "failed"


def test_a_path_can_be_let_through_with_a_reason() -> None:
    def work(ctx: Context) -> dict[str, Any]:
        ctx.activity(look_up, CANARY)
        return {"text": CANARY}

    allowed = {
        "$.text": "samples of our own scanner",
        "look_up:$.args[0]": "the sample",
        "look_up:$.about": "the sample",
    }
    assert play(work, secrets_allowed=allowed).state["text"] == CANARY
    for one in allowed:
        less = {path: why for path, why in allowed.items() if path != one}
        assert play(work, secrets_allowed=less).status == "failed", one
    graph = Graph("noting", Note, secrets_allowed=allowed)
    graph.node("work", then=END)(lambda state, ctx: {})
    assert graph.describe_graph()["secrets_allowed"] == allowed
    plain = Graph("noting", Note)
    plain.node("work", then=END)(lambda state, ctx: {})
    assert "secrets_allowed" not in plain.describe_graph(), "fingerprints of agents stay"


@pytest.mark.parametrize(
    "allowed",
    [{"text": "no path"}, {"$.text": ""}, {"$.text": " "}, {"$.text": 1}, {1: "x"}, ["$.text"]],
)
def test_an_exception_names_a_path_and_a_reason(allowed: Any) -> None:
    with pytest.raises(GraphError, match="secrets_allowed"):
        Graph("noting", Note, secrets_allowed=allowed)


def test_it_can_be_switched_off_but_not_for_what_was_read(settings: Any, monkeypatch: Any) -> None:
    settings.GATEPOST_CREDENTIALS = "off"
    assert play(lambda ctx: {"text": CANARY}, version=2).state["text"] == CANARY
    monkeypatch.setenv("SHOP_KEY", CANARY)
    thread = play(lambda ctx: {"text": ctx.activity(lambda: current().secret("SHOP_KEY"))})
    assert "holds a secret at $" in thread.reason


def test_what_is_on_record_goes_on(settings: Any) -> None:
    """A thread from before, whose step is worked again: what it recorded answers as it did."""
    settings.GATEPOST_CREDENTIALS = "off"
    calls: list[str] = []
    graph = Graph("noting", Note)

    def look(goal: str) -> str:
        calls.append(goal)
        return goal

    @graph.node("work", then=END)
    def work(state: Note, ctx: Context) -> dict[str, Any]:
        ctx.activity(look, CANARY)
        if len(calls) == 1:
            calls.append("stopped")
            settings.GATEPOST_CREDENTIALS = "refuse"
            raise RuntimeError("the worker is restarted")
        return {"text": "done"}

    thread = Harness(graph).play()
    assert thread.status == "failed"
    thread.retry()
    assert (thread.status, thread.state["text"]) == ("succeeded", "done"), thread.reason
    assert calls == [CANARY, "stopped"], "it was not called again"
