"""Wherever a call of a tool is shown, its own sentence is: pages, API, mails, news, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from approvals import gates
from approvals.notify.texts import letters
from approvals.queries import ApprovalRow
from approvals.rules.headlines import headline
from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.verdicts import Verdict
from dashboard.wording.events import event_sentence
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene

SENTENCE = "Paid 24 invoices, 222,532.88 EUR <b>"
SHOWN = "Paid 24 invoices, 222,532.88 EUR &lt;b&gt;"


def test_previews_and_save_points_say_the_sentence(cast: Cast, operator: Client) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="one")
    payload = scene.effect(work, key="publish:0", sentence=SENTENCE)
    plain = scene.effect(work, key="publish:1")
    target = queries.checkpoint_by_number(work.thread, 0).id
    for at in ("", "cancel/", f"rollback/?checkpoint={target}"):
        html = operator.get(f"/threads/{work.thread}/{at}").content.decode()
        (row,) = (r for r in html.split("<tr ") if str(payload) in r)
        assert SHOWN in row
        assert "publish</code>" in row
        (row,) = (r for r in html.split("<tr ") if str(plain) in r)
        assert SHOWN not in row
        assert "publish" in row
    assert verify_thread(work.thread).intact


# ---- requests: every entry that shows one -------------------------------------------------------

TITLE = "Is Tuesday's zebra fine?"  # the author's own, which stands nowhere else
PLAN = "Pay 24 invoices, 222,532.88 EUR"
OTHER = {"checkpoint": "1", "sha256": "0" * 64, "name": "x", "user_id": "1"}


def addresses(
    patterns: Any, space: str = "", values: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name, parameters) of every address but those of the admin site."""
    for one in patterns:
        named = (*values, *one.pattern.regex.groupindex)
        if isinstance(one, URLResolver):
            if one.namespace != "admin":
                inner = f"{space}{one.namespace}:" if one.namespace else space
                yield from addresses(one.url_patterns, inner, named)
        elif one.name:
            yield f"{space}{one.name}", named


def filled(row: ApprovalRow) -> Iterator[str]:
    """Every address with the ids of this request and its thread."""
    known = {"approval_id": row.id, "thread_id": row.thread, **OTHER}
    for name, parameters in addresses(get_resolver().url_patterns):
        if set(parameters) <= known.keys():
            yield reverse(name, kwargs={p: known[p] for p in parameters})
    checkpoint = queries.checkpoint_by_number(row.thread, 0).id
    yield f"/threads/{row.thread}/rollback/?checkpoint={checkpoint}"

    yield "/approvals/?box=open"
    yield f"/approvals/?box=open&q={PLAN[:12]}"


def shown(answer: Any) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = unescape(body.decode(errors="replace"))
    return text.replace("\\u0027", "'")


@pytest.mark.slow
def test_every_address_that_shows_a_request_says_its_sentence(
    cast: Cast, agent: UUID, operator: Client
) -> None:
    """Of all GETs of the product: where the title stands, the tool's sentence does."""
    row = scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN)
    scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN)
    client: Client = cast.client("manager")
    seen = []
    for address in sorted(set(filled(row))):
        if "/live" in address or "sign" in address or "log" in address:
            continue
        answer = client.get(address)
        if answer.status_code == 403:
            answer = operator.get(address)
        if answer.status_code == 200 and TITLE in (text := shown(answer)):
            seen.append(address)
            assert PLAN in text, address
    names = {re.sub(r"[0-9a-f-]{36}", "ID", address.partition("?")[0]) for address in seen}
    assert names >= {
        "/",
        "/approvals/",
        "/approvals/ID/",
        "/approvals/ID/edit/",
        "/threads/ID/",
        "/threads/ID/cancel/",
        "/threads/ID/rollback/",
        "/api/v1/approvals/",
        "/api/v1/approvals/ID/",
        "/api/v1/threads/ID/",
        "/api/v1/threads/ID/events/",
    }, names


def test_messages_events_and_commands_say_the_sentence(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN)
    now = datetime.now(UTC)
    one = letters.letter(row, "approval.requested", base="http://here", now=now)
    assert all(PLAN in text for text in (one.subject, one.text, one.html))
    assert one.text.count(PLAN) == 1
    two = letters.digest([(row, "approval.requested"), (row, "approval.turn")], base="", now=now)
    assert PLAN in two.text
    manager = cast.actor("manager")
    decisions.decide(manager, row.id, "approve", row.standing_hash)
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, data ->> 'sentence' FROM gp_outbox")
        news = cursor.fetchall()
    assert {"approval.requested", "approval.decided"} <= {kind for kind, _ in news}
    assert all(message == PLAN for kind, message in news if kind.startswith("approval."))
    messages = [event_sentence(e) for e in queries.events(row.thread, limit=50).rows]
    assert sum(PLAN in line for line in messages) == 2
    assert verify_thread(row.thread).intact


def test_after_an_edit_the_sentence_of_what_was_asked_is_shown_no_more(
    cast: Cast, agent: UUID
) -> None:
    row = scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN, risk="high")
    assert row.headline == f"{TITLE} {PLAN}"
    edited = replace(row, standing_args={"report": "s"})
    assert (edited.shown_sentence, edited.headline) == ("", TITLE)


@pytest.mark.parametrize(
    ("title", "sentence", "line"),
    [
        ("Pay?", "", "Pay?"),
        ("Pay?", "Pay 5.", "Pay 5."),
        ("Pay what is due?", "Pay 5.", "Pay what is due? Pay 5."),
        ("Look at it", "Pay 5", "Look at it: Pay 5"),
        ("Repeat: Pay 5", "Pay 5", "Repeat: Pay 5"),
        ("Repeat: Publish this?", "Publish “Delays”", "Repeat: Publish “Delays”"),
        ("Repeat: Pay what is due?", "Pay 5.", "Repeat: Pay what is due? Pay 5."),
        ("Publish this?", "Publish “Delays”", "Publish “Delays”"),
        ("Mail Ada?", "Mail Ada at ada@example.com", "Mail Ada at ada@example.com"),
        # Words in another order say something else, and so does a title with more words.
        ("Pay Ben, not Ada?", "Pay Ada, not Ben", "Pay Ben, not Ada? Pay Ada, not Ben"),
        ("Pay -5?", "Pay 5", "Pay -5? Pay 5"),
        ("?", "Pay 5", "? Pay 5"),
        ("Don't pay Ada?", "Pay Ada 5", "Don't pay Ada? Pay Ada 5"),
    ],
)
def test_a_headline_says_nothing_twice(title: str, sentence: str, line: str) -> None:
    assert headline(title, sentence) == line


def test_an_effect_whose_end_nobody_knows_says_what_was_tried(cast: Cast, agent: UUID) -> None:
    client: Client = cast.client("operator")
    thread, effect = scene.asking(cast.workspace, agent, sentence=PLAN)
    for address in ("", "settle/", "cancel/"):
        answer = client.get(f"/threads/{thread}/{address}")
        assert PLAN in answer.content.decode(), address
    listed = client.get(f"/api/v1/threads/{thread}/activities/").json()["results"]
    assert [a["sentence"] for a in listed if a["id"] == str(effect)] == [PLAN]
    assert verify_thread(thread).intact
    store.settle(thread, activity=effect, verdict=Verdict.HAPPENED, actor="user:1", result={})
    assert queries.activity(effect).sentence == PLAN
    assert verify_thread(thread).intact
    other, gone = scene.asking(cast.workspace, agent, sentence=PLAN)
    store.settle(other, activity=gone, verdict=Verdict.NOT_HAPPENED, actor="user:1")
    assert queries.activity(gone).sentence == PLAN
    assert verify_thread(other).intact


def test_the_outcome_says_what_was_done_under_the_request(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN)
    decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    gates.settle_due()
    work = scene.lease(row.thread)
    scene.effect(work, sentence=SENTENCE, approval=row.id)
    html = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    assert SHOWN in html.partition('id="did"')[2].partition("</p>")[0]
    assert 'id="followed"' not in html


def test_the_outcome_says_what_the_decision_set_going(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent, title=TITLE, sentence=PLAN)
    decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    gates.settle_due()
    work = scene.lease(row.thread)
    scene.effect(work, sentence="Reserved 900 EUR", key="reserve", approval=row.id)
    scene.effect(work, sentence="77 invoices paid", key="pay")
    scene.effect(work, sentence="24 mails sent", key="mail", done=False)
    html = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    shown = html.partition('id="followed"')[2].partition("</ul>")[0]
    assert shown.index("77 invoices paid") < shown.index("24 mails sent")
    assert "under way" in shown.partition("24 mails sent")[2]
    assert "Reserved" not in shown
