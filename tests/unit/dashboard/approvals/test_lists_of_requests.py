"""Lists of requests say what each is: stacks, rows of a bulk decision, counts of work."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from approvals import queries
from approvals.inbox import reviewers
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from dashboard.wording.amounts import amount_of, in_words, sum_of
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(cast: Cast) -> Client:
    client: Client = cast.client("manager")
    return client


def pay(cast: Cast, agent: UUID, amount: str, **more: Any) -> ApprovalRow:
    args = {"amount": amount, "currency": "EUR"}
    values = {"title": f"Pay {amount} EUR?", "args": args, "risk": "medium"} | more
    return scene.waiting(cast.workspace, agent, **values)


def page(client: Client, path: str, **form: Any) -> str:
    answer = client.post(path, form) if form else client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def test_a_stack_says_sum_and_range_and_no_title_of_one_alone(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    for amount in ("151781.50", "6709.00", "91172.39"):
        pay(cast, agent, amount)
    html = page(manager, "/approvals/?box=open")
    header = text_of(re.search(r'(?s)<summary\s+id="alike-.*?</summary>', html)[0])
    assert "Pay … EUR?" in header
    assert "€249,662.89 in all" in header
    assert "€6,709.00 – €151,781.50" in header
    assert "3 similar" in header
    members = html.partition('class="members"')[2].partition("</ul>")[0]
    # Each of them says which thread it is of, how risky it is, how much and since when.
    assert members.count("Delays") == 3
    assert members.count("Medium") == 3
    assert members.count("data-age") == 3
    assert members.count("€") == 3


def test_what_is_of_high_risk_is_never_hidden_in_a_stack(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    risky = [pay(cast, agent, f"{n}00.00", risk="high") for n in (1, 2, 3)]
    html = page(manager, "/approvals/?box=open")
    assert 'id="alike-' not in html
    assert all(f'id="approval-{row.id}"' in html for row in risky)


def test_each_row_of_a_bulk_decision_says_what_it_is(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    requests = [
        scene.waiting(
            cast.workspace,
            agent,
            title="Publish this report?",
            args={"title": title, "slug": f"r-{n}", "file": "f" * 64, "amount": f"{n}.50"},
        )
        for n, title in enumerate(("Delays in May", "Fares in June"))
    ]
    rows(
        "UPDATE gp_thread SET title = 'Summer schedule' WHERE id = %s RETURNING 1",
        (requests[0].thread,),
    )
    items = [f"{row.id}:{row.standing_hash}" for row in requests]
    html = page(manager, "/approvals/decide/", verdict="approve", item=items)
    first, second = re.findall(r'<li class="result-row">.*?</li>', html, re.DOTALL)
    # The thread first, then what tells one from the other, the hash at the end.
    words = ("Summer schedule", "Publish this report?", "Title: Delays in May", "€", "sha256")
    places = [first.find(word) for word in words if word != "€"]
    assert places == sorted(places)
    assert places[0] > 0
    assert "Title: Fares in June" in second
    assert "ffff" not in first
    assert "2.00 in all" in text_of(html)
    button = text_of(html.partition("<footer>")[2].partition("</footer>")[0])
    assert "Approve 2 · 2.00" in button


def test_who_has_approved_is_not_offered_it_again_in_bulk(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    row = pay(cast, agent, "5.00", terms=Terms(stages=(Seat(count=2),)))
    decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    items = [f"{row.id}:{row.standing_hash}"]
    html = page(manager, "/approvals/decide/", verdict="approve", item=items)
    assert "You have approved. Somebody else is still needed." in html
    assert "None of these can be decided together" in html
    # A veto is still open to them.
    html = page(manager, "/approvals/decide/", verdict="reject", item=items)
    assert "Reject this request" in html


def test_what_was_taken_back_is_no_decision_and_says_so(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    row = pay(cast, agent, "5.00", terms=Terms(undo_window=600))
    who = cast.actor("manager")
    decisions.decide(who, row.id, "approve", row.standing_hash)
    decisions.take_back(who, row.id)
    assert reviewers.habit(cast.workspace, who.person) is None
    shown = text_of(page(manager, f"/approvals/{row.id}/").partition('id="votes"')[2])
    assert "Approved, undone" in shown
    assert "before it took effect" in shown
    assert "edited" not in shown.partition("Questions")[0]
    decisions.decide(who, row.id, "approve", row.standing_hash)
    [habit] = reviewers.habits(cast.workspace)
    assert habit.decided == 1


def test_an_approval_made_void_by_an_edit_names_who_edited(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    row = pay(cast, agent, "5.00", terms=Terms(stages=(Seat(count=2),)))
    decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    args = {"amount": "4.00", "currency": "EUR"}
    decisions.decide(cast.actor("second_manager"), row.id, "edit", row.standing_hash, args=args)
    shown = text_of(page(manager, f"/approvals/{row.id}/").partition('id="votes"')[2])
    assert "Approved, void" in shown
    assert "Void: second_manager edited the values" in shown


def test_what_is_left_is_said_as_requests_not_as_seconds(
    cast: Cast, manager: Client, agent: UUID
) -> None:
    first = pay(cast, agent, "5.00", terms=Terms(undo_window=10))
    pay(cast, agent, "6.00", terms=Terms(undo_window=10))
    form = {"verdict": "approve", "proposal_hash": first.standing_hash}
    address = f"/approvals/{first.id}/decide/?box=open"
    html = manager.post(address, form, follow=True).content.decode()
    assert "You can undo this for 10 seconds." in html
    assert "1 request left to review" in html
    assert queries.approval(first.id, workspace=cast.workspace).status == "held"


MONEY = st.decimals("-1e9", "1e9", places=2).map(lambda n: f"{n:f}")


@given(st.lists(st.tuples(MONEY, st.sampled_from(["EUR", "USD", "CHF", ""])), min_size=1))
def test_a_sum_is_that_of_what_the_rows_show(many: list[tuple[str, str]]) -> None:
    args = [{"amount": n, "currency": c} if c else {"amount": n} for n, c in many]
    result = sum_of(args)
    assert result is not None
    totals: dict[str, Decimal] = {}
    for number, currency in many:
        totals[currency] = totals.get(currency, Decimal(0)) + Decimal(number)
    assert result.total == " + ".join(in_words(n, c) for c, n in totals.items())
    shown = {amount_of(one) for one in args}
    assert {result.least, result.most} - {""} <= shown
    assert bool(result.most) is (len(totals) == 1 and len(shown) > 1)
    assert sum_of([*args, {"to": "Ada"}]) is None
