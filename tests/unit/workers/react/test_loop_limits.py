"""Limits of a loop, and what a model cannot be shown."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from gatepost import (
    GraphError,
    Harness,
    Reply,
    react,
)

from .models import by_turn, calls
from .tools import REVIEW, add

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
