"""Every form of a page that approves what weighs asks a second time, without any script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from approvals.rules.weight import weight_of
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("D02")]

UNDO = "unpublish"
WEIGHTY: dict[str, dict[str, Any]] = {
    "lasting": {"undo": "", "risk": "low"},
    "lasting, medium": {"undo": "", "risk": "medium"},
    "high": {"undo": UNDO, "risk": "high"},
    "last of two": {"undo": UNDO, "risk": "low", "terms": Terms(stages=(Seat(count=2),))},
}
FORMS: dict[str, dict[str, str]] = {
    "approve": {"verdict": "approve"},
    "edit": {"verdict": "edit", "as": "json"},
}


def made(cast: Cast, **more: Any) -> ApprovalRow:
    """A request that the manager may decide; of several approvals one is there."""
    row = scene.waiting(cast.workspace, scene.make_agent(), **more)
    if "terms" in more:
        decisions.decide(cast.actor("second_manager"), row.id, "approve", row.standing_hash, "")
    return row


def form(row: ApprovalRow, name: str, **more: str) -> dict[str, str]:
    args = json.dumps(row.shown_args | {"report": "another"})
    return FORMS[name] | {"proposal_hash": row.standing_hash, "comment": "ok", "args": args} | more


def ways() -> Iterator[tuple[str, str]]:
    # An edit makes other approvals void: it is never the last of several.
    return (one for one in product(WEIGHTY, FORMS) if one != ("last of two", "edit"))


def votes(row: ApprovalRow, cast: Cast) -> int:
    """How often the manager has decided on it."""
    return sum(vote.person == cast.actor("manager").person for vote in queries.votes(row.id))


@pytest.mark.parametrize(("why", "name"), list(ways()))
def test_a_form_asks_before_it_decides(cast: Cast, why: str, name: str) -> None:
    row, client = made(cast, **WEIGHTY[why]), cast.client("manager")
    path = f"/approvals/{row.id}/decide/"
    page = client.post(path, form(row, name))
    html = page.content.decode()
    assert page.status_code == 200
    assert 'id="second-question"' in html
    assert 'name="comment" value="ok"' in html
    assert votes(row, cast) == 0
    answer = client.post(path, form(row, name, confirmed=name))
    assert answer.status_code == 303
    assert votes(row, cast) == 1


@pytest.mark.parametrize("name", FORMS)
def test_what_can_be_undone_needs_one_answer(cast: Cast, name: str) -> None:
    row = made(cast, undo=UNDO, risk="medium")
    answer = cast.client("manager").post(f"/approvals/{row.id}/decide/", form(row, name))
    assert answer.status_code == 303
    assert answer["Location"].startswith(f"/approvals/{row.id}/")
    assert votes(row, cast) == 1


def test_the_question_brings_no_password_back(cast: Cast) -> None:
    row = made(cast, undo="")
    sent = form(row, "approve", password="secret-of-mine", confirm_code="123456")
    html = cast.client("manager").post(f"/approvals/{row.id}/decide/", sent).content.decode()
    assert 'id="second-question"' in html
    assert "secret-of-mine" not in html
    assert "123456" not in html


def test_several_at_once_want_a_word_on_what_cannot_be_undone(cast: Cast) -> None:
    lasting, undoable = made(cast, undo=""), made(cast, undo=UNDO)
    client, items = (
        cast.client("manager"),
        [f"{row.id}:{row.standing_hash}" for row in (lasting, undoable)],
    )
    sent = {"verdict": "approve", "item": items, "confirmed": "1"}
    html = client.post("/approvals/decide/", sent).content.decode()
    assert "I know that 1 of these can’t be undone" in html
    assert "Tick this to approve." in html
    assert votes(lasting, cast) == votes(undoable, cast) == 0
    # The quick button of a row is no way round it.
    quick = {"one": f"approve:{items[0]}", "confirmed": "1"}
    client.post("/approvals/decide/", quick)
    assert votes(lasting, cast) == 0
    client.post("/approvals/decide/", sent | {"lasting": "1"})
    assert votes(lasting, cast) == votes(undoable, cast) == 1


def test_the_list_offers_no_quick_answer_to_what_cannot_be_undone(cast: Cast) -> None:
    row = made(cast, undo="", tool="send", title="Send the letter")
    other = made(cast, undo=UNDO)
    html = cast.client("manager").get("/approvals/?box=open").content.decode()
    for request, form_id in ((row, "look"), (other, "one")):
        value = f'value="approve:{request.id}:'
        button = html[html.rindex("<button", 0, html.index(value)) : html.index(value)]
        assert f'form="{form_id}"' in button


def test_the_weight_follows_the_undo_not_only_the_risk() -> None:
    def weight(**more: str) -> str:
        return weight_of(**{"kind": "gate", "risk": "low", "tool": "pay", "undo": UNDO} | more)

    assert weight() == ""
    assert weight(risk="high") == "high"
    assert weight(undo="") == "lasting"
    assert weight(undo="", risk="high") == "lasting"
    assert weight(undo="", tool="") == ""  # a gate without an effect
    assert weight(kind="question", undo="") == ""
