"""Wherever the worker dies: questions are answered once, effects happen once, answers stay."""

from __future__ import annotations

from collections import Counter

import pytest

from approvals.policies.matches import Rule
from approvals.rules.terms import Terms
from checkpoints.states import EventKind
from tests.unit.workers.graphs import inboxed, several
from tests.unit.workers.graphs.effects import gated
from workers.testing.harness import AskBack, Edit, Harness, Played, Respond

WRITES = 26  # more than any of these plays needs


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    gated.paid.clear()
    gated.failures[0] = 0
    several.sent.clear()
    several.meanwhile.clear()


def replies(thread: Played) -> list[str]:
    return [e.data["text"] for e in thread.events if e.kind == EventKind.APPROVAL_REPLIED]


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, WRITES))
def test_a_question_and_an_edit(n: int) -> None:
    edit = Edit({"to": "Ada", "amount": "7.50"})
    thread = Harness(gated.graph, stop_after=n).play(decide=[AskBack("Why?"), edit])
    assert thread.status == "succeeded"
    assert replies(thread) == ["Why? Because of 10.00."]
    assert {p[:2] for p in gated.paid} == {("Ada", "7.50")}
    assert len({key for *_, key in gated.paid}) == 1, "a repeated call has the same key"
    (effect,) = thread.effects
    assert effect.approval == thread.approvals[-1].id
    assert thread.verify()


@pytest.mark.parametrize("n", range(1, WRITES))
def test_what_a_policy_allows(n: int) -> None:
    rule = Rule("allow", gated.VERSION, "small sums", Terms())
    thread = Harness(gated.graph, stop_after=n, policy=lambda _: rule).play()
    assert thread.status == "succeeded"
    assert [a.status for a in thread.approvals] == ["settled"]
    assert len({key for *_, key in gated.paid}) == 1
    assert thread.verify()


@pytest.mark.parametrize("n", range(1, WRITES))
def test_an_interrupt_that_is_answered_in_words(n: int) -> None:
    requests = [inboxed.asking(), inboxed.asking(allow_respond=True)]
    decide = {"Send this mail?": Respond("Shorter.")}
    harness = Harness(inboxed.graph, stop_after=n)
    thread = harness.play({"requests": requests})
    for _ in range(4):
        for row in thread.open:
            ask_back = AskBack("Shorter.") if row.kind == "gate" else decide[row.title]
            harness.settle(row, ask_back)
        thread.go_on()
    assert thread.status == "succeeded"
    assert thread.state["answers"] == [{"type": "response", "args": "Shorter."}] * 2
    values = Counter(a.key for a in thread.activities if a.kind == "value")
    assert values == {"interrupt#0": 1, "interrupt#1": 1}
    assert [a.status for a in thread.approvals] == ["withdrawn", "settled"]
    assert thread.verify()


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, WRITES))
def test_several_gates_of_one_step(n: int) -> None:
    thread = Harness(several.graph, stop_after=n).play(decide="approve")
    assert thread.status == "succeeded"
    assert thread.state["done"] == ["a", "b", "c"]
    assert {a.tool: a.state for a in thread.effects} == {"parcel.send": "done"}
    assert len(thread.approvals) == 3
    assert thread.verify()
