"""Tools describe what they do; whatever their words are, the effect happens."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from approvals.policies.matches import Rule
from checkpoints.states import EventKind, Status
from gatepost_agents.market_research.agent import publish_report
from gatepost_agents.payments import tools as payments
from tests.unit.workers.graphs import described
from tests.unit.workers.graphs.effects.gated import AnyBench, asking, rules, told_in
from workers.authoring.graph import tool
from workers.checking.effects import check_tool
from workers.node import descriptions
from workers.node.approval_gates import NOT_DESCRIBED

# Each with what people are told of its fault.
BAD = {
    "bill.connects": "",
    "bill.fails": "no words",
    "bill.number": "",
    "bill.empty": "The sentence is empty.",
    "bill.nul": "",
    "bill.half": "",
    "bill.long": "The sentence has 4,999 characters; 300 may be.",
    "bill.bidi": "The sentence has characters that cannot be seen or look like others.",
    "bill.alike": "The sentence has characters that cannot be seen or look like others.",
}


@pytest.fixture
def bench(make_bench: Any, monkeypatch: pytest.MonkeyPatch) -> AnyBench:
    """The agent `described`; nothing is paid and no fault logged yet."""
    described.paid.clear()
    monkeypatch.setattr(descriptions, "_logged", set())
    any_bench: AnyBench = make_bench(described)
    return any_bench


def done(bench: AnyBench, thread: Any) -> str:
    """The sentence recorded with the thread's one effect."""
    (row,) = [a for a in bench.activities(thread) if a.kind == "effect"]
    return row.sentence


def test_a_policys_request_has_the_sentence_and_the_record_what_came_of_it(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules(bench, monkeypatch, lambda facts: asking())
    thread = bench.start()
    bench.advance(thread)
    assert bench.open(thread).title == "Pay Ada 12,345.60 EUR"
    bench.decide(thread, "edit", "less", {"amount": "99.00"})
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert done(bench, thread) == "Paid Ada 99.00 EUR as P-1"
    assert bench.intact(thread)


@pytest.mark.parametrize(
    ("own", "rule", "title"),
    [
        ("Pay what is due?", None, "Pay what is due?"),
        ("Pay what is due?", asking(), "Pay what is due?"),
        ("", asking(title="Look at it"), "Look at it"),
    ],
)
def test_words_of_people_come_first(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch, own: str, rule: Rule | None, title: str
) -> None:
    rules(bench, monkeypatch, lambda facts: rule)
    thread = bench.start(own=own)
    bench.advance(thread)
    assert bench.open(thread).title == title


def test_a_repeat_and_a_fork_ask_with_the_sentence(bench: AnyBench) -> None:
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    fork = bench.fork(thread, 0, {"amount": "2.00"}, effects="ask")
    bench.advance(fork)
    assert bench.open(fork).title == "Repeat: Pay Ada 2.00 EUR"
    bench.roll_back(thread, 0)
    bench.resume(thread)
    bench.advance(thread)
    assert bench.open(thread).title == "Repeat: Pay Ada 12,345.60 EUR"
    first = bench.start(own="Pay?")
    bench.advance(first)
    other = bench.fork(first, 0, {"own": ""}, effects="ask")
    bench.advance(other)
    assert bench.open(other).title == "Pay Ada 12,345.60 EUR"


@pytest.mark.parametrize("name", BAD)
def test_bad_words_stop_nothing_and_are_logged_once(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rules(bench, monkeypatch, lambda facts: asking())
    thread = bench.start(tool=name)
    with capture_logs() as logs:
        bench.advance(thread)
        row = bench.open(thread)
        assert (row.title, row.sentence) == (f"Let described do {name}?", "")
        assert f"{NOT_DESCRIBED} " in row.description
        assert BAD[name] in row.description
        bench.decide(thread, "approve")
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert [one["tool"] for one in logs if one["event"] == "tool.not_described"] == [name]
    assert [amount for amount, _ in described.paid] == ["12345.60"]
    assert done(bench, thread) == ""
    assert bench.intact(thread)


def test_a_sentence_is_one_line_and_changes_no_argument(bench: AnyBench) -> None:
    thread = bench.start(tool="bill.changes")
    bench.advance(thread)
    assert done(bench, thread) == "Pay Ada nothing"
    assert [amount for amount, _ in described.paid] == ["12345.60"]
    thread = bench.start(tool="bill.silent")
    bench.advance(thread)
    (row,) = bench.activities(thread)
    assert (row.sentence, row.usage) == ("", None)


@pytest.mark.parametrize("title", ["Pay what is due?", ""])
def test_a_request_keeps_the_sentence_beside_the_words_of_people(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    rules(bench, monkeypatch, lambda facts: asking())
    thread = bench.start(own=title)
    waits = bench.advance(thread)
    row, line = bench.open(thread), "Pay Ada 12,345.60 EUR"
    assert (row.sentence, row.headline) == (line, f"{title} {line}".strip())
    (request,) = told_in(bench, thread, EventKind.APPROVAL_REQUESTED)
    assert request["sentence"] == line
    assert row.headline in str(waits.waiting_on)
    bench.decide(thread, "edit", "less", {"amount": "99.00"})
    bench.advance(thread)
    (started,) = told_in(bench, thread, EventKind.EFFECT_STARTED)
    assert started["sentence"] == "Pay Ada 99.00 EUR", "what is done, not what was asked"
    assert bench.intact(thread)


def test_what_failed_keeps_the_sentence_of_what_was_tried(bench: AnyBench) -> None:
    thread = bench.start(amount="1.00")
    assert bench.advance(thread).status is Status.FAILED
    assert done(bench, thread) == "Pay Ada 1.00 EUR"
    assert bench.intact(thread)


def test_the_shipped_tools_describe_themselves() -> None:
    payments_of = [
        {"supplier": one, "to": one, "due": "", "amount": "1", "account": "", "invoice": ""}
        for one in ("S-1", "S-2", "S-1")
    ]
    args: dict[str, Any] = {"total": "222532.88", "currency": "EUR", "payments": payments_of}
    say = descriptions.described
    assert say(payments.reserve, args) == "Reserve 222,532.88 EUR for 3 invoices of 2 suppliers"
    assert say(payments.reserve, args, {}) == (
        "Reserved 222,532.88 EUR for 3 invoices of 2 suppliers"
    )
    what = {"reservation": "R", "count": 1_200, "total": "222532.88"}
    assert say(payments.pay, what) == "Pay 1,200 invoices, 222,532.88 EUR"
    assert say(payments.pay, what, {"count": 1, "total": "5.00"}) == "Paid 1 invoice, 5.00 EUR"
    mails = [{"total": "1000.50"}, {"total": "0.50"}]
    assert say(payments.mail, {"mails": mails}) == (
        "Mail 2 suppliers remittance advice on 1,001.00 EUR"
    )
    assert say(payments.mail, {"mails": mails}, {"mails": mails[:1]}) == (
        "Mailed 1 supplier remittance advice on 1,000.50 EUR"
    )
    assert say(publish_report, {"title": "Delays"}) == "Publish “Delays”"
    assert say(publish_report, {"title": "Delays"}, {}) == "Published “Delays”"


def test_the_check_wants_a_function_and_calls_none() -> None:
    def refuse(args: Any, result: Any) -> str:
        raise AssertionError("the check calls nothing")

    def place(*, key: str) -> None: ...

    wrong: Any = "a text"
    messages = [
        [f.said for f in check_tool("a", tool("t", idempotent=True, describe=how)(place))]
        for how in (wrong, refuse)
    ]
    assert set(messages[0]) - set(messages[1]) == {"Its describe= is not a function."}
