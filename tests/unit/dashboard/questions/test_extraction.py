"""Answers by extraction: what fits a question, and what only looks like it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from checkpoints.queries.history.passages import Passage
from dashboard.questions.extraction import Extracted, extract
from dashboard.questions.parsed_question import Wants, parse_question

THREAD = UUID(int=7)
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
pytestmark = pytest.mark.requirement("B41")


def passage(seq: int, kind: str, data: dict[str, Any] | None = None, **more: Any) -> Passage:
    values: dict[str, Any] = {
        "thread": THREAD,
        "seq": seq,
        "kind": kind,
        "actor": "worker:1",
        "at": AT,
        "imported": False,
        "workspace": UUID(int=1),
        "agent": "payments",
        "title": "42 invoices, EUR 1,234.50",
        "checkpoint": None,
        "tool": "",
        "node": "",
        "data": data or {},
        "changes": {},
        "args": None,
        "result": None,
        "file": "",
    }
    return Passage(**values | more)


LINES = [
    {"invoice": "RE 115", "name": "Nordwind", "amount": "1140.87", "due": "2026-11-17"},
    {"invoice": "SD-496", "name": "Schloß", "amount": "562.29", "due": "2026-12-07"},
]  # fmt: skip
LOG = (
    passage(1, "thread.started", {"agent": "payments"}, actor="user:5"),
    passage(2, "thought.recorded", {"node": "load", "text": "Read 66 lines of invoices.csv."}),
    passage(
        3,
        "thought.recorded",
        {"node": "accounts", "text": "Line 9, BOE/61, is set aside. The account was paid last to "
         "another holder."},
    ),
    passage(4, "checkpoint.committed", {"number": 3}, changes={"payments": LINES}),
    passage(
        5,
        "approval.decided",
        {"title": "Pay 42 invoices, 1,234.50 EUR?", "verdict": "approve", "comment": "Matches the "
         "orders of October.", "by_name": "manager"},
        actor="user:6",
    ),
    passage(
        6,
        "effect.finished",
        {"sentence": "Pay 42 invoices", "tool": "bank.pay", "node": "pay"},
        tool="bank.pay",
        node="pay",
        result={"reservation": "R-77", "paid_at": "2026-11-30T12:00:00Z", "count": 42},
    ),
    passage(7, "thought.recorded", {"text": "S-111 has no mail address and is not told."}),
    passage(8, "checkpoint.committed", {"number": 5},
            changes={"log": ["Paid 42 invoices, 1,234.50 EUR."], "paid": "1234.50"}),
)  # fmt: skip
PEOPLE = {"user:5": "olga", "user:6": "manager"}


def ask(question: str) -> Extracted:
    return extract(parse_question(question), LOG, PEOPLE)


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("Who approved the payment?", Wants.PERSON),
        ("By whom was it approved?", Wants.PERSON),
        ("When was the money paid?", Wants.TIME),
        ("On which day is RE 115 due?", Wants.TIME),
        ("How many invoices were paid?", Wants.COUNT),
        ("How much was paid?", Wants.AMOUNT),
        ("Why was BOE/61 set aside?", Wants.REASON),
        ("Was the payment approved?", Wants.WHETHER),
        ("Which supplier has no mail address?", Wants.VALUE),
    ],
)
def test_a_question_says_what_it_wants(question: str, wants: Wants) -> None:
    assert parse_question(question).wants is wants


@pytest.mark.parametrize(
    ("question", "seqs", "part"),
    [
        ("Who approved the payment?", {5}, "manager"),
        ("Who started the thread?", {1}, "olga"),
        ("How many lines were read?", {2}, "66 lines"),
        ("Why was BOE/61 set aside?", {3}, "another holder"),
        ("What is the amount of invoice RE 115?", {4}, "1140.87"),
        ("How much is the amount of RE 115?", {4}, "1140.87"),
        ("When is SD-496 due?", {4}, "2026-12-07"),
        ("What did the manager say about the orders?", {5}, "Matches the orders of October."),
        ("What is the reservation of the payment?", {6}, "R-77"),
        ("What has no mail address?", {7}, "S-111"),
        ("How many invoices were paid?", {8, 6}, "42"),
        ("Was the payment approved?", {5}, "Pay 42 invoices"),
    ],
)
def test_the_fact_that_answers_is_found(question: str, seqs: set[int], part: str) -> None:
    result = ask(question)
    assert result.sentences, (question, result.missing)
    first = result.sentences[0]
    assert first.passage.seq in seqs, (question, first)
    assert part in first.text, (question, first.text)


@pytest.mark.parametrize(
    "question",
    [
        "Who rejected the payment?",
        "Who cancelled the thread?",
        "Why was RE 115 set aside?",
        "What is the amount of invoice RE 116?",
        "How many suppliers were paid?",
        "What is the phone number of Nordwind?",
        "When was the payment refunded?",
        "Was the thread rolled back?",
        "How many lines were skipped?",
        "Which supplier was told?",
        "What is the?",
    ],
)
def test_what_only_looks_like_an_answer_is_none(question: str) -> None:
    assert ask(question).sentences == ()


def test_the_words_that_no_event_has_are_named() -> None:
    assert "phon" in ask("What is the phone number of Nordwind?").missing
