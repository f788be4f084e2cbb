"""Interrupts in the form of Agent Inbox: what is asked, which verdicts it takes, the answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from approvals.queries import ApprovalRow
from approvals.rules.verdicts import verdicts_of
from checkpoints.states import EventKind, Status
from tests.unit.workers.graphs import inboxed
from tests.unit.workers.graphs.effects.gated import AnyBench, ask_back, decided, requests, told_in
from tests.unit.workers.graphs.inboxed import asking


@pytest.fixture
def bench(make_bench: Callable[[Any], AnyBench]) -> AnyBench:
    return make_bench(inboxed)


def waiting(bench: AnyBench, *questions: dict[str, Any]) -> tuple[UUID, ApprovalRow]:
    thread = bench.start(requests=list(questions))
    row = bench.advance(thread)
    assert row.status is Status.WAITING, row.status_reason
    return thread, requests(bench, thread)[-1]


def answers(bench: AnyBench, thread: UUID) -> Any:
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED, row.status_reason
    return bench.state(thread)["answers"]


def test_it_is_asked_as_a_gate_with_the_verdicts_of_its_config(bench: AnyBench) -> None:
    _, row = waiting(bench, asking())
    assert (row.kind, row.tool, row.args) == ("gate", "send_mail", {"to": "ada", "copies": 1})
    assert (row.title, row.description[-8:]) == ("Send this mail?", "he bill.")
    assert verdicts_of(row.kind, row.schema) == ("approve", "edit", "respond", "reject")
    assert row.schema["properties"] == {"to": {"type": "string"}, "copies": {"type": "integer"}}


def test_accepted(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking())
    decided(bench, thread, row)
    assert answers(bench, thread) == [{"type": "accept", "args": None}]
    (saved,) = [a for a in bench.activities(thread) if a.approval == row.id]
    assert (saved.kind, saved.result) == ("value", {"type": "accept", "args": None})
    assert bench.intact(thread)


def test_edited(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking())
    decided(bench, thread, row, args={"to": "bea", "copies": 2})
    edited = {"action": "send_mail", "args": {"to": "bea", "copies": 2}}
    assert answers(bench, thread) == [{"type": "edit", "args": edited}]


def test_ignored(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking())
    decided(bench, thread, row, outcome="reject", comment="not now")
    assert answers(bench, thread) == [{"type": "ignore", "args": None, "comment": "not now"}]


def test_a_refusal_that_was_not_offered_is_raised(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking(allow_accept=True))
    decided(bench, thread, row, outcome="reject", comment="never")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["outcome"] == "no: never"


def test_words_are_the_answer_and_end_the_request(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking())
    ask_back(bench, thread, row, "Make it shorter.")
    assert answers(bench, thread) == [{"type": "response", "args": "Make it shorter."}]
    (gone,) = requests(bench, thread)
    assert (gone.status, gone.outcome) == ("withdrawn", "")
    assert gone.comment == "Answered in words: the agent continues with them."
    assert told_in(bench, thread, EventKind.APPROVAL_REPLIED) == []


def test_words_that_were_not_offered_are_replied_to(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking(allow_accept=True))
    ask_back(bench, thread, row, "Why?")
    assert bench.advance(thread).status is Status.WAITING
    assert len(told_in(bench, thread, EventKind.APPROVAL_REPLIED)) == 1
    assert [a.status for a in requests(bench, thread)] == ["pending"]


def test_where_only_words_are_wanted_it_is_a_question(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking(allow_respond=True))
    assert (row.kind, row.tool, row.schema["type"]) == ("question", "", "string")
    assert verdicts_of(row.kind, row.schema) == ("respond", "reject")
    decided(bench, thread, row, outcome="respond", decided_args="Fine so.")
    assert answers(bench, thread) == [{"type": "response", "args": "Fine so."}]


def test_an_answer_that_was_not_offered_is_asked_again(bench: AnyBench) -> None:
    thread, row = waiting(bench, asking(allow_accept=True, allow_ignore=True))
    decided(bench, thread, row, args={"to": "eve", "copies": 9})
    assert bench.advance(thread).status is Status.WAITING
    again = requests(bench, thread)[-1]
    assert (again.revision, again.args) == (1, {"to": "ada", "copies": 1})
    assert again.description.startswith("Asked again: this request offered no such answer.")


def test_several_at_once_are_several_requests(bench: AnyBench) -> None:
    thread, _ = waiting(bench, asking(), asking({"to": "bea", "copies": 2}))
    first, second = requests(bench, thread)
    decided(bench, thread, second, outcome="reject", comment="no")
    assert bench.advance(thread).status is Status.WAITING
    assert len(requests(bench, thread)) == 2
    decided(bench, thread, first)
    assert answers(bench, thread) == [
        {"type": "accept", "args": None},
        {"type": "ignore", "args": None, "comment": "no"},
    ]


WRONG: list[tuple[Any, str]] = [
    ({}, "$.action_request is missing"),
    ({"action_request": 1}, "$.action_request must be an object"),
    ({"action_request": {"action": "x"}}, "$.action_request.args is missing"),
    ({"action_request": {"action": 1, "args": {}}}, "$.action_request.action must be a text"),
    ({"action_request": {"action": "", "args": {}}}, "$.action_request.action must be a text"),
    ({"action_request": {"action": "x", "args": []}}, "$.action_request.args must be an object"),
    ({**asking(), "config": None}, "$.config must be an object"),
    ({**asking(), "config": {}}, "$.config allows no answer at all"),
    ({**asking(), "config": {"allow_accept": 1}}, "$.config.allow_accept must be true or false"),
    ({**asking(), "config": {"allow_all": True}}, "$.config.allow_all is not known here"),
    ({**asking(), "description": 3}, "$.description must be a text"),
    ({**asking(), "risk": "high"}, "$.risk is not known here"),
]


@pytest.mark.parametrize(("value", "text"), WRONG)
def test_what_does_not_fit_fails_the_step_and_names_the_place(
    bench: AnyBench, value: Any, text: str
) -> None:
    thread = bench.start(requests=[value])
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert re.search(re.escape(f"This interrupt cannot be asked: {text}"), row.status_reason)
    thread = bench.start(requests=[asking(), value])
    at = text.replace("$", "$[1]", 1)
    assert at in bench.advance(thread).status_reason
    assert requests(bench, thread) == []
