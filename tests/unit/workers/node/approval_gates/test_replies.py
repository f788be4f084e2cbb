"""What a reviewer asks back wakes the agent for the answer only: the request stays open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from approvals.queries import ApprovalRow
from approvals.rules.verdicts import offered, verdicts_of
from checkpoints.states import EventKind, Status
from tests.unit.workers.graphs.effects import gated
from tests.unit.workers.graphs.effects.gated import (
    AnyBench,
    ask_back,
    asking,
    decided,
    requests,
    rules,
    told_in,
)
from workers.node.approval_gates import NO_ANSWER


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    gated.paid.clear()
    gated.failures[0] = 0
    return make_bench(gated)


def waiting(bench: AnyBench, **input: Any) -> tuple[UUID, ApprovalRow]:
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    return thread, requests(bench, thread)[-1]


def test_the_agent_answers_once_and_waits_again(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    request = ask_back(bench, thread, row, "Why now?")
    assert bench.advance(thread).status is Status.WAITING
    messages = [
        {"approval": str(row.id), "decision": str(request)} | {"text": "Why now? Because of 10.00."}
    ]
    assert told_in(bench, thread, EventKind.APPROVAL_REPLIED) == messages
    (again,) = requests(bench, thread)
    assert (again.id, again.status, again.standing_hash) == (row.id, "pending", row.standing_hash)
    assert gated.paid == []
    (recorded,) = [a for a in bench.activities(thread) if a.tool == "summary"]
    assert recorded.result == "Why now? Because of 10.00."

    more = ask_back(bench, thread, row, "And then?")
    assert bench.advance(thread).status is Status.WAITING
    replies = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert [r["decision"] for r in replies] == [str(request), str(more)], "each of them once"
    decided(bench, thread, row)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(gated.paid) == 1


def test_people_are_offered_a_question_where_the_agent_answers_it(bench: AnyBench) -> None:
    _, row = waiting(bench)
    assert "respond" in offered(row.kind, row.schema, verdicts_of(row.kind, row.schema))


def test_two_questions_before_a_worker_looks_get_two_answers(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    requests = [ask_back(bench, thread, row, text) for text in ("One?", "Two?")]
    assert bench.advance(thread).status is Status.WAITING
    replies = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert [(r["decision"], r["text"][:4]) for r in replies] == [
        (str(requests[0]), "One?"),
        (str(requests[1]), "Two?"),
    ]


def test_an_agent_that_cannot_answer_says_so_and_does_not_fail(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    ask_back(bench, thread, row, "fail")
    assert bench.advance(thread).status is Status.WAITING
    (reply,) = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert reply["text"] == "The agent could not answer: ValueError: no idea"


def test_an_agent_without_answers_says_so(bench: AnyBench, monkeypatch: pytest.MonkeyPatch) -> None:
    rules(bench, monkeypatch, lambda _: asking())
    thread, row = waiting(bench, asks=False)
    assert "respond" not in offered(row.kind, row.schema, verdicts_of(row.kind, row.schema))
    ask_back(bench, thread, row, "Why?")
    assert bench.advance(thread).status is Status.WAITING
    (reply,) = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert reply["text"] == NO_ANSWER
    assert NO_ANSWER.startswith("This agent answers no questions.")


@pytest.mark.parametrize("message", [7, "", " \n", None, "x" * 300_000, "a\udc80b"])
def test_what_is_no_text_to_keep_is_not_kept(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch, message: Any
) -> None:
    from dataclasses import replace

    from workers.node import approval_gates

    own = approval_gates.reply_text
    monkeypatch.setattr(
        approval_gates, "reply_text", lambda _, value: own(lambda *_: message, value)
    )
    thread, row = waiting(bench)
    ask_back(bench, thread, row, "Why?")
    assert bench.advance(thread).status is Status.WAITING
    (reply,) = told_in(bench, thread, EventKind.APPROVAL_REPLIED)
    assert reply["text"].startswith("The agent could not answer: ")
    assert len(reply["text"]) < 1_000
    assert replace(row, title="") is not None


def test_a_decision_that_came_with_the_question_counts(bench: AnyBench) -> None:
    thread, row = waiting(bench)
    ask_back(bench, thread, row, "Why?")
    decided(bench, thread, row)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert told_in(bench, thread, EventKind.APPROVAL_REPLIED) == []
