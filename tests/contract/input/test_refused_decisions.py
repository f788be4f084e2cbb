"""Bad input to a decision, through the pages and through the API: 4xx in words, nothing happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import queries as past
from checkpoints.records import Position
from tests.support.cast import Cast
from tests.unit.dashboard import scene

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "string", "pattern": "^[0-9.]+$"}, "to": {"type": "string"}},
    "required": ["amount", "to"],
    "additionalProperties": False,
}
ARGS = {"amount": "12.00", "to": "Ada"}
Sent = dict[str, Any]


def _open(cast: Cast, **more: Any) -> ApprovalRow:
    values: Sent = {"args": ARGS, "schema": SCHEMA, **more}
    return scene.waiting(cast.workspace, scene.make_agent(), **values)


def _moved(cast: Cast) -> ApprovalRow:
    """The page was opened, then somebody edited; the row is as the page showed it."""
    row = _open(cast, terms=Terms(stages=(Seat(count=2),)))
    other = cast.actor("second_manager")
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(other.id, other.name),
        verdict="edit",
        proposal_hash=row.proposal_hash,
        args=ARGS | {"amount": "13.00"},
    )
    return row


def _decided(cast: Cast, outcome: str = "approve") -> ApprovalRow:
    row, who = _open(cast), cast.actor("second_manager")
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(who.id, who.name),
        verdict=outcome,
        proposal_hash=row.proposal_hash,
        comment="no",
    )


def _expired(cast: Cast) -> ApprovalRow:
    return _open(cast, expires_in=-1.0)


def _elsewhere(cast: Cast) -> ApprovalRow:
    return scene.waiting(cast.elsewhere, scene.make_agent())


def _barred(cast: Cast) -> ApprovalRow:
    return _open(cast, terms=Terms(four_eyes=True, barred=(cast.actor("manager").person,)))


def _others(cast: Cast) -> ApprovalRow:
    return _open(cast, terms=Terms(stages=(Seat(people=("second_manager",)),)))


def _held_by_another(cast: Cast) -> ApprovalRow:
    row, who = _open(cast, terms=Terms(undo_window=600)), cast.actor("second_manager")
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(who.id, who.name),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )


def _question(cast: Cast) -> ApprovalRow:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft")
    position = Position(work.branch, work.step + 1, "publish", 0, "ask:0")
    return scene.gate(work, position=position, kind="question", tool="", args={}, title="Which?")


EDIT = {"verdict": "edit"}
# what: (the request, what is sent beside the hash, the status, words of the sentence)
CASES: dict[str, tuple[Callable[[Cast], ApprovalRow], Sent, int, str]] = {
    "wrong hash": (_open, {"verdict": "approve", "proposal_hash": "0" * 64}, 409, "changed since"),
    "no hash": (_open, {"verdict": "approve", "proposal_hash": ""}, 422, "proposal_hash"),
    "stale page": (_moved, {"verdict": "approve"}, 409, "changed since you opened it"),
    "stale reject": (_moved, {"verdict": "reject", "comment": "no"}, 409, "changed since"),
    "stale edit": (_moved, EDIT | {"args": ARGS | {"amount": "9"}}, 409, "changed since"),
    "foreign id": (_elsewhere, {"verdict": "approve"}, 404, "no such request"),
    "expired": (_expired, {"verdict": "approve"}, 409, "expired before your answer arrived"),
    "decided": (_decided, {"verdict": "approve"}, 409, "already decided this request"),
    "four eyes": (_barred, {"verdict": "approve"}, 403, "somebody else"),
    "not one's seat": (_others, {"verdict": "approve"}, 403, "second_manager"),
    "no verdict": (_open, {"verdict": ""}, 422, "verdict"),
    "unknown verdict": (_open, {"verdict": "maybe"}, 422, "Possible here"),
    "no reason": (_open, {"verdict": "reject"}, 422, "give a reason"),
    "no question": (_open, {"verdict": "respond", "comment": " "}, 422, "enter your question"),
    "what next": (
        _open, {"verdict": "reject", "comment": "no", "what_next": "explode"}, 422, "what_next",
    ),
    "edit of no object": (_open, EDIT | {"args": [1]}, 422, "object"),
    "edit of a wrong type": (_open, EDIT | {"args": ARGS | {"amount": 7}}, 422, "amount"),
    "edit that misses one": (_open, EDIT | {"args": {"amount": "1"}}, 422, "required"),
    "edit with one too many": (_open, EDIT | {"args": ARGS | {"x": 1}}, 422, "x"),
    "edit of nothing": (_open, EDIT | {"args": ARGS}, 422, "the current ones"),
    "edit of a question": (_question, EDIT | {"args": {"a": 1}}, 422, ""),
    "approve a question": (_question, {"verdict": "approve"}, 422, "Possible here"),
    "too long": (_open, {"verdict": "approve", "comment": "x" * 6_000}, 422, "comment"),
    "a NUL": (_open, {"verdict": "reject", "comment": "a\0b"}, 422, "comment"),
}  # fmt: skip
# What the page says at the place of the verdict, beside the note that is kept.
ON_THE_PAGE = {"expired": "Nobody decided in time", "decided": "approved this"}
TAKE_BACK: dict[str, tuple[Callable[[Cast], ApprovalRow], int]] = {
    "open": (_open, 409),
    "settled": (_decided, 409),
    "held by another": (_held_by_another, 409),
    "elsewhere": (_elsewhere, 404),
    "expired": (_expired, 409),
}


def state(row: ApprovalRow) -> tuple[Any, ...]:
    """Everything a decision could change."""
    now = queries.approval(row.id, workspace=row.workspace)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_decision WHERE approval_id = %s", (row.id,))
        votes = cursor.fetchone()
    kinds = [e.kind for e in past.events(row.thread, limit=100).rows]
    # A try against four eyes and an expiry that was due are on record; they decide nothing.
    kinds = [k for k in kinds if k not in ("decision.refused", "approval.expired")]
    status = "pending" if now.status == "expired" else now.status
    return (status, now.outcome, now.standing_hash, now.shown_args, now.comment, votes, kinds)


def by_api(cast: Cast, row: ApprovalRow, call: str, body: Sent) -> tuple[int, str]:
    answer = cast.client("manager").post(
        f"/api/v1/approvals/{row.id}/{call}/", json.dumps(body), content_type="application/json"
    )
    payload = answer.json()
    assert payload["status"] == answer.status_code
    return answer.status_code, json.dumps(payload, ensure_ascii=False)


def by_page(cast: Cast, row: ApprovalRow, call: str, form: Sent) -> tuple[int, str]:
    sent = {k: json.dumps(v) if k == "args" else v for k, v in form.items()}
    answer = cast.client("manager").post(f"/approvals/{row.id}/{call}/", sent)
    return answer.status_code, answer.content.decode()


@pytest.mark.slow
@pytest.mark.parametrize("entry", [by_page, by_api], ids=["page", "api"])
@pytest.mark.parametrize("what", CASES)
def test_a_bad_decision_is_refused_in_words(cast: Cast, what: str, entry: Any) -> None:
    make, sent, status, words = CASES[what]
    if entry is by_page:
        words = ON_THE_PAGE.get(what, words)
    row = make(cast)
    before = state(row)
    body = {"proposal_hash": row.proposal_hash, **sent}
    got, message = entry(cast, row, "decide", body)
    # What can be no text at all is refused by the API before anybody reads it.
    assert got == (400 if what == "a NUL" and entry is by_api else status), message
    assert words.casefold() in message.casefold()
    assert state(row) == before


def test_a_second_tab_of_ones_own_is_answered_in_words(cast: Cast) -> None:
    row, who = _open(cast), cast.actor("manager")
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(who.id, who.name),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )
    late = {"verdict": "reject", "comment": "no", "proposal_hash": row.proposal_hash}
    status, text = by_page(cast, row, "decide", late)
    assert status == 409
    assert "already decided this request" in text


@pytest.mark.parametrize("entry", [by_page, by_api], ids=["page", "api"])
@pytest.mark.parametrize("what", TAKE_BACK)
def test_only_one_s_own_held_decision_is_taken_back(cast: Cast, what: str, entry: Any) -> None:
    make, status = TAKE_BACK[what]
    row = make(cast)
    before = state(row)
    got, message = entry(cast, row, "take-back", {})
    assert got == status, message
    assert state(row) == before


@pytest.mark.parametrize("entry", [by_page, by_api], ids=["page", "api"])
def test_an_id_that_nobody_knows_is_not_found(cast: Cast, entry: Any) -> None:
    row = _open(cast)
    ghost = row.__class__(
        **{f: getattr(row, f) for f in row.__dataclass_fields__} | {"id": uuid4()}
    )
    for call, body in (
        ("decide", {"verdict": "approve", "proposal_hash": row.proposal_hash}),
        ("take-back", {}),
    ):
        assert entry(cast, ghost, call, body)[0] == 404
    assert queries.approval(row.id, workspace=row.workspace).open


def test_what_is_no_json_comes_back_at_its_field(cast: Cast) -> None:
    row = _open(cast)
    client, url = cast.client("manager"), f"/approvals/{row.id}/decide/"
    for raw, words in (
        ("{not json", "This is not valid JSON; look at line 1, character 2."),
        ('{"amount": NaN}', "amount: NaN is not JSON."),
        ('{"amount": "1", "amount": "2", "to": "x"}', "amount: the key occurs twice."),
        ("", "one JSON object"),
        ("[]", "one JSON object"),
        ("[" * 200 + "]" * 200, "deep"),
    ):
        form = {"verdict": "edit", "proposal_hash": row.proposal_hash, "args": raw}
        answer = client.post(url, form)
        html = answer.content.decode()
        assert answer.status_code == 422, raw
        assert words in html
        assert 'id="args" name="args"' in html
    wrong = client.post(
        url,
        {"verdict": "edit", "proposal_hash": row.proposal_hash, "as": "form", "f-amount": "much"},
    )
    html = wrong.content.decode()
    assert wrong.status_code == 422
    assert 'aria-invalid="true"' in html
    assert "Use an amount like 12.50." in html
    assert queries.approval(row.id, workspace=row.workspace).standing_args is None
