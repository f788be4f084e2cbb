"""The pages of the inbox: ticked together, each by itself; from one request to the next."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from dashboard.wording.amounts import amount_of
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
TOGETHER = "/approvals/decide/"


@pytest.fixture
def manager(cast: Cast) -> Client:
    client: Client = cast.client("manager")
    return client


def made(cast: Cast, agent: UUID, n: int = 1, **more: Any) -> list[ApprovalRow]:
    return [scene.waiting(cast.workspace, agent, **more) for _ in range(n)]


def item(row: ApprovalRow) -> str:
    return f"{row.id}:{row.standing_hash}"


def outcome(row: ApprovalRow) -> str:
    return gates.approval(row.id, workspace=row.workspace).outcome


# --- together ---------------------------------------------------------------------------------


def test_the_dialog_decides_nothing_and_lists_each_hash(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    request = made(cast, agent, 2)
    form = {"verdict": "approve", "item": [item(row) for row in request], "next": "/approvals/?q=x"}
    page = manager.post(TOGETHER, form)
    html = page.content.decode()
    assert page.status_code == 200
    assert [f"sha256 {row.standing_hash}" in html for row in request] == [True, True]
    assert "Approve these 2 requests?" in html
    assert [outcome(row) for row in request] == ["", ""]
    done = manager.post(TOGETHER, form | {"confirmed": "1"})
    assert (done.status_code, done["Location"]) == (303, "/approvals/?q=x")
    assert [outcome(row) for row in request] == ["approve", "approve"]
    assert "2 requests approved." in manager.get("/approvals/").content.decode()


def test_whatever_cannot_be_decided_together_is_refused_alone(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    [good] = made(cast, agent)
    [changed] = made(cast, agent, title="Changed")
    [high] = made(cast, agent, risk="high", title="High")
    turns = Terms(stages=(Seat(), Seat()))
    [twice] = made(cast, agent, terms=turns, title="Twice")
    [question] = made(cast, agent, kind="question", tool="", title="Question?")
    stranger = scene.waiting(cast.elsewhere, agent)
    requests = [good, changed, high, twice, question, stranger]
    form = {
        "verdict": "approve",
        "confirmed": "1",
        "item": [item(row) for row in requests] + [f"{uuid4()}:{'0' * 64}"],
    }
    rows("UPDATE gp_approval SET proposal_hash = %s WHERE id = %s", ("c" * 64, changed.id))
    page = manager.post(TOGETHER, form)
    html = page.content.decode()
    assert page.status_code == 200
    assert "1 approved, 6 not" in html
    assert len(re.findall('data-refused="', html)) == 6
    for line in (
        "High risk is decided on its own page",
        "What several people approve in turn",
        "A question is decided on its own page",
        "no such request in this workspace",
    ):
        assert line in html, line
    assert outcome(good) == "approve"
    assert [outcome(row) for row in requests[1:]] == [""] * 5


def test_what_became_of_requests_that_left_a_list(cast: Cast, manager: Client, agent: UUID) -> None:
    waiting, approved, rejected, late, gone = made(cast, agent, 5)
    stranger = scene.waiting(cast.elsewhere, agent)
    who = cast.actor("second_manager")
    decisions.decide(who, approved.id, "approve", approved.standing_hash)
    decisions.decide(who, rejected.id, "reject", rejected.standing_hash, "no")
    rows("UPDATE gp_approval SET status = 'expired', due_seats = '{}' WHERE id = %s", (late.id,))
    rows("UPDATE gp_approval SET status = 'withdrawn', due_seats = '{}' WHERE id = %s", (gone.id,))
    requests = [waiting, approved, rejected, late, gone, stranger]
    query = "&".join(f"id={row.id}" for row in requests)
    assert manager.get(f"/approvals/ended/?{query}").json() == {
        "ended": {
            str(approved.id): "Decided by second_manager: approved",
            str(rejected.id): "Decided by second_manager: rejected",
            str(late.id): "Expired: nobody decided in time",
            str(gone.id): "Withdrawn",
        }
    }
    assert manager.get("/approvals/ended/").json() == {"ended": {}}
    assert manager.get("/approvals/ended/?id=x").status_code == 422
    assert manager.get("/approvals/ended/?" + f"id={late.id}&" * 101).status_code == 422
    assert Client().get(f"/approvals/ended/?{query}").status_code == 302


def test_nothing_good_is_409_and_a_reason_is_needed_to_reject(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    [row, other] = made(cast, agent, 2)
    form = {"verdict": "reject", "item": item(row), "confirmed": "1"}
    page = manager.post(TOGETHER, form | {"comment": "  "})
    assert page.status_code == 422
    assert "give a reason" in page.content.decode()
    assert outcome(row) == ""
    assert manager.post(TOGETHER, form | {"comment": "no"}).status_code == 303
    assert outcome(row) == "reject"
    late = manager.post(TOGETHER, form | {"comment": "no"})
    assert late.status_code == 409
    assert "manager has rejected it already" in late.content.decode()
    for who in ("operator", "auditor", "admin", "viewer"):
        refused = cast.client(who).post(TOGETHER, form | {"item": item(other), "comment": "no"})
        assert refused.status_code == 403, who
    assert outcome(other) == ""


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"verdict": "approve"}, 303),
        ({"verdict": "approve", "item": "nonsense"}, 422),
        ({"verdict": "approve", "item": f"{uuid4()}:short"}, 422),
        ({"verdict": "edit", "item": f"{uuid4()}:{'0' * 64}"}, 422),
        ({"verdict": "approve", "item": [f"{uuid4()}:{'0' * 64}" for _ in range(201)]}, 422),
        ({"one": "approve"}, 422),
    ],
)
def test_bad_forms_are_refused_in_words(
    cast: Cast, manager: Client, form: dict[str, Any], status: int
) -> None:
    assert manager.post(TOGETHER, form | {"confirmed": "1"}).status_code == status
    assert manager.get(TOGETHER).status_code == 405


# --- the way through a box --------------------------------------------------------------------


def test_after_a_decision_the_request_stays_and_leads_to_the_next_of_the_box(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    first, second, third = (made(cast, agent, title=f"Do {w}")[0] for w in ("a", "b", "c"))
    page = manager.get(f"/approvals/{second.id}/?box=mine&sort=age").content.decode()
    assert "2 of 3" in page
    assert f'href="/approvals/{first.id}/?box=mine&amp;sort=age" data-key="k"' in page
    box, ways = "box=mine&amp;sort=age", []
    for row in (second, third, first):
        answer = manager.post(
            f"/approvals/{row.id}/decide/?box=mine&sort=age",
            {"verdict": "approve", "proposal_hash": row.proposal_hash},
        )
        assert answer["Location"].startswith(f"/approvals/{row.id}/?box=mine&sort=age")
        decided = manager.get(answer["Location"]).content.decode()
        assert 'id="outcome"' in decided
        ways += re.findall(r'id="next-request" href="([^"]+)"', decided)
    assert ways == [
        f"/approvals/{third.id}/?{box}",
        f"/approvals/{first.id}/?{box}",
        f"/approvals/?{box}",
    ]
    last = manager.get("/approvals/?box=mine&sort=age").content.decode()
    assert "Nothing is waiting for you" in last


def test_who_comes_another_way_stays_at_the_request(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    [row] = made(cast, agent)
    at = f"/approvals/{row.id}/"
    answer = manager.post(
        f"{at}decide/", {"verdict": "approve", "proposal_hash": row.proposal_hash}
    )
    assert answer["Location"] == at


def test_a_look_is_noted_for_those_who_may_decide_and_not_for_a_poll(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    [row] = made(cast, agent)
    at = f"/approvals/{row.id}/"
    manager.get(at, headers={"X-Gatepost-Regions": "approval-main"})
    manager.head(at)
    cast.client("operator").get(at)
    assert one("SELECT count(*) FROM gp_approval_look") == 0
    manager.get(at)
    manager.get(at)
    assert rows("SELECT person FROM gp_approval_look") == [(f"user:{cast.users['manager'].pk}",)]


# --- boxes and reviewers ----------------------------------------------------------------------


def test_boxes_by_page_and_by_call_are_the_same(cast: Cast, manager: Client, agent: UUID) -> None:
    cast.users["manager"].groups.add(Group.objects.create(name="finance"))
    for title, risk, terms in (
        ("Anybody", "low", None),
        ("Finance", "high", Terms(stages=(Seat(teams=("finance",)),))),
        ("Legal", "medium", Terms(stages=(Seat(teams=("legal",)),))),
    ):
        made(cast, agent, title=title, risk=risk, terms=terms)
    expected = {
        "box=mine": ["Finance", "Anybody"],
        "box=mine&sort=age": ["Anybody", "Finance"],
        "box=team": ["Finance"],
        "box=high": ["Finance"],
        "box=open": ["Finance", "Legal", "Anybody"],
        "box=due": [],
        "box=done": [],
    }
    for query, titles in expected.items():
        html = manager.get(f"/approvals/?{query}").content.decode()
        assert re.findall(r'class="ti clip2">([^<]+)</b>', html) == titles, query
        payload = manager.get(f"/api/v1/approvals/?{query}").json()
        assert [one["title"] for one in payload["results"]] == titles, query
    first = manager.get("/api/v1/approvals/?box=open&limit=2").json()
    rest = manager.get(f"/api/v1/approvals/?box=open&limit=2&cursor={first['next_cursor']}").json()
    assert [one["title"] for one in first["results"] + rest["results"]] == expected["box=open"]
    mine = manager.get("/api/v1/approvals/?mine=1&sort=age").json()["results"]
    assert [one["title"] for one in mine] == expected["box=mine&sort=age"]
    assert cast.client("auditor").get("/api/v1/approvals/?box=mine").json()["results"] == []
    for bad in ("box=x", "sort=x", "box=done&mine=1", "box=open&status=all", "box=open&cursor=x"):
        assert manager.get(f"/api/v1/approvals/?{bad}").status_code == 422, bad
    assert "box-mine" not in cast.client("auditor").get("/approvals/").content.decode()


def test_who_approves_unseen_hears_of_it_and_so_do_auditors(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    for row in made(cast, agent, 5, risk="high"):
        manager.post(
            f"/approvals/{row.id}/decide/",
            {"verdict": "approve", "proposal_hash": row.proposal_hash, "confirmed": "1"},
        )
    message = "Your last 5 approvals of requests that need opening came without opening them."
    assert message in manager.get("/approvals/").content.decode()
    assert message not in cast.client("second_manager").get("/approvals/").content.decode()
    for who, hears in {"auditor": True, "admin": True, "manager": False, "viewer": False}.items():
        page = cast.client(who).get("/approvals/reviewers/").content.decode()
        assert ("it is worth a conversation" in page) is hears, who
        assert ("Not opened" in page) is hears, who
        assert "Any reviewer" not in page  # nothing waits
    assert "manager" in cast.client("viewer").get("/approvals/reviewers/").content.decode()


def test_reviewers_says_only_what_holds_of_what_it_shows(
    cast: Cast, manager: Client, agent: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = made(cast, agent, 3)
    page = manager.get("/approvals/reviewers/").content.decode()
    assert "Any reviewer" in page
    assert "among the oldest" not in page  # these are all
    assert "from request to decision" not in page  # nobody has decided
    decisions.decide(cast.actor("manager"), rows[0].id, "approve", rows[0].standing_hash)
    monkeypatch.setattr("approvals.inbox.reviewers.WAITING_CAP", 2)
    page = manager.get("/approvals/reviewers/").content.decode()
    assert "among the oldest 2" in page
    assert "from request to decision" in page


def test_what_is_decided_is_told_as_past_and_by_whom(cast: Cast, manager: Client) -> None:
    [row] = made(cast, scene.make_agent("past"))
    now = (
        "Why a person is asked",
        "What exactly will happen",
        "Your decision takes effect immediately",
    )
    then = ("Why a person was asked", "What exactly was requested", "The request is exactly this")
    page = manager.get(f"/approvals/{row.id}/").content.decode()
    assert all(line in page for line in now)
    assert not any(line in page for line in then)
    decisions.decide(cast.actor("second_manager"), row.id, "approve", row.standing_hash)
    page = manager.get(f"/approvals/{row.id}/").content.decode()
    assert not any(line in page for line in now)
    assert all(line in page for line in then)
    assert "by <b>second_manager</b>." in page


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"amount": "48200.00", "currency": "EUR"}, "€48,200.00"),
        ({"amount": 12.5, "currency": "CHF"}, "12.5 CHF"),
        ({"payment": {"amount": "7", "currency": "USD"}}, "$7"),
        ({"amount": "-3.10", "currency": "GBP"}, "-£3.10"),
        ({"total": 1_000}, "1,000"),
        ({"recipients": ["a", "b"]}, "2 recipients"),
        ({"amount": "a lot"}, ""),
        ({"amount": True}, ""),
        ({"amount": "1e9"}, ""),
        ({"amount": "12", "currency": "<b>"}, "12"),
        ({"rows": [1], "more": [1, 2]}, ""),
        (["x"], ""),
        (None, ""),
    ],
)
def test_an_amount_is_read_or_left_out(args: Any, shown: str) -> None:
    assert amount_of(args) == shown
