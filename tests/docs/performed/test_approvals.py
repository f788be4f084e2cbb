"""docs/howto/approvals.md: boxes, what a request tells, the four answers, deputies, programs."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from approvals import queries as gates
from approvals.rules.terms import Seat, Terms
from checkpoints import queries
from tests.docs.performing import Performance, in_days
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import calls, scene

pytestmark = pytest.mark.django_db
# The report of this scene came out of a recorded step, so that it is nobody's invention.
ARGS = {"payee": "ACME", "account": "DE89", "amount": "4711.00"}


def make_request(cast: Cast, by: str = "operator", **more: Any) -> gates.ApprovalRow:
    """A request to pay, of a thread that somebody started."""
    agent = scene.make_agent("payments")
    thread = scene.start(cast.workspace, agent, by=f"user:{cast.users[by].pk}")
    work = scene.lease(thread)
    scene.step(work, report="ready")
    return scene.gate(work, **{"args": ARGS, "tool": "pay", "title": "Pay?", **more})


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_boxes_and_answers_are_those_of_the_page(cast: Cast) -> None:
    page = Performance("approvals", cast)
    row = make_request(cast, risk="high")
    manager = cast.client("manager")
    inbox = unescape(manager.get("/approvals/").content.decode())
    boxes = re.findall(r"^\| ([A-Z][A-Za-z ]+) \|", section(page.text, "Where requests are"), re.M)
    assert len(boxes) == 6
    for box in boxes:
        assert re.search(rf">\s*{box}\b", inbox), box
    for box in ("mine", "open", "high"):
        assert str(row.id) in manager.get(f"/approvals/?box={box}").content.decode(), box

    # From top to bottom: what, how much, why, every value, the fingerprint.
    shown = unescape(manager.get(f"/approvals/{row.id}/").content.decode())
    for value in (*ARGS.values(), row.standing_hash[:4], row.standing_hash[4:8]):
        assert value in shown, value
    # Opening a link decides nothing.
    assert gates.approval(row.id, workspace=cast.workspace).status == "pending"

    keys = re.findall(
        r"^\| \*\*(.+?)\*\* \| `(\w)` \|", section(page.text, "The four answers"), re.M
    )
    assert [key for _, key in keys] == ["a", "e", "q", "r"]
    for words, _ in keys:
        assert words in shown, words
    verdicts: dict[str, dict[str, Any]] = {
        "Approve": {"verdict": "approve"},
        "Edit first": {"verdict": "edit", "args": ARGS | {"amount": "4000.00"}},
        "Ask the agent": {"verdict": "respond", "comment": "why them?"},
        "Reject": {"verdict": "reject", "comment": "wrong account", "what_next": "stop"},
    }
    assert list(verdicts) == [words for words, _ in keys]
    for words, body in verdicts.items():
        one = make_request(cast)
        named = body | {"proposal_hash": one.standing_hash}
        answer = calls.post(manager, f"/approvals/{one.id}/decide/", named)
        assert answer.status_code == 200, (words, answer.content)
        after = gates.approval(one.id, workspace=cast.workspace)
        if words == "Ask the agent":
            assert (after.outcome or "", after.status) == ("", "pending"), "nothing is decided"
        else:
            assert after.outcome == body["verdict"], words
    # Whatever was seen before an edit is refused.
    unseen = {"verdict": "approve", "proposal_hash": "0" * 64}
    calls.refused(calls.post(manager, f"/approvals/{row.id}/decide/", unseen), 409)
    # A decision with an undo window is taken back by whoever made it.
    held = make_request(cast, terms=Terms(undo_window=3600))
    decisions.decide(cast.actor("manager"), held.id, "approve", held.standing_hash)
    assert "Undo decision" in manager.get(f"/approvals/{held.id}/").content.decode()
    assert calls.post(manager, f"/approvals/{held.id}/take-back/").status_code == 200
    assert gates.approval(held.id, workspace=cast.workspace).status == "pending"
    # Four eyes: whoever took part sees the request and cannot decide it; the try is on record.
    me = f"user:{cast.users['manager'].pk}"
    own = make_request(cast, by="manager", terms=Terms(four_eyes=True, barred=(me,)))
    assert manager.get(f"/approvals/{own.id}/").status_code == 200
    verdict = {"verdict": "approve", "proposal_hash": own.standing_hash}
    problem = calls.refused(calls.post(manager, f"/approvals/{own.id}/decide/", verdict), 403)
    assert problem["type"].endswith(":four-eyes")
    assert any(event.actor == me for event in queries.events_after(own.thread, 3))


def test_deputies_and_programs_are_those_of_the_page(cast: Cast) -> None:
    page = Performance("approvals", cast)
    page.person("grace", "reviewer")
    day: dict[str, Any] = {
        "2026-12-01": in_days(0),
        "2026-12-15": in_days(14),
    }
    named = page.run("./manage.py deputy name grace --from", "manager", **day)
    assert (named["deputy_name"], named["reason"]) == ("grace", "holiday")
    row = make_request(cast, terms=Terms(stages=(Seat(people=("manager",)),)))
    assert str(row.id) in cast.client("grace").get("/approvals/?box=mine").content.decode()
    done = decisions.decide(cast.actor("grace"), row.id, "approve", row.standing_hash)
    record = page.call("GET /approvals/{id}/", "auditor", ID=row.id)
    assert "grace for manager" in str(record).lower()
    assert done.outcome == "approve"

    other = make_request(cast)
    handed = page.run("./manage.py deputy hand-over", "manager", APPROVAL=other.id)
    assert (handed["deputy_name"], handed["reason"]) == ("grace", "you know this customer")
    listed = page.run("./manage.py deputy list", "manager")["results"]
    assert {one["id"] for one in listed} == {named["id"], handed["id"]}
    page.run("./manage.py deputy remove", "manager", ID=named["id"])
    (left,) = page.run("./manage.py deputy list", "manager")["results"]
    assert left["id"] == handed["id"]
    until = f"--until {in_days(3)}"
    by_admin = page.run(
        "deputy name USER",
        "admin",
        more=until,
        **{"--person USER": "--person manager"},
        USER="grace",
    )
    assert (by_admin["person_name"], by_admin["deputy_name"]) == ("manager", "grace")
    decides = {"scopes": ("read", "decide")}
    page.call("POST /api/v1/deputies/{id}/remove/", "manager", {}, ID=by_admin["id"], **decides)
    ends = f"{in_days(3)}T00:00:00Z"
    made = page.call(
        "POST /api/v1/deputies/", "manager", {"deputy": "grace", "ends": ends}, 201, **decides
    )
    third = make_request(cast)
    start = "POST /api/v1/approvals/{id}/hand-over/"
    again = page.call(start, "manager", {"to": "grace"}, 201, ID=third.id, **decides)
    deputies = page.client("manager").get("/api/v1/deputies/").json()["results"]
    assert {made["id"], again["id"]} <= {one["id"] for one in deputies}

    detail = page.call("GET /api/v1/approvals/{id}/", "manager", ID=third.id)
    assert detail["standing_hash"] == third.standing_hash
    assert detail["receipts"] is not None, "where each value comes from"
    assert (detail["proposal"], detail["former"]) == (ARGS, None)
    assert {"terms", "votes", "questions"} <= detail.keys()

    risky = make_request(cast, risk="high")
    body = [
        {"id": str(one.id), "verdict": "approve", "proposal_hash": one.standing_hash}
        for one in (make_request(cast), risky)
    ]
    answer = page.call("POST /api/v1/approvals/decide/", "manager", body, **decides)
    first, second = answer["results"]
    assert (first["status"], second["status"]) == (200, 409), answer
    assert "decided-alone" in str(second)
    page.complete()
