"""Tables of many columns on a phone: rows of names and values, nothing to push sideways."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser import payments
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen
from tests.faults.bench import Case
from tests.unit.dashboard.html.tables.test_payees import payments_of

from .test_accessible import faults

pytestmark = [pytest.mark.nightly, pytest.mark.browser]
ACCOUNT = "FR9099999000016935920846779"
INVOICES = [
    {
        "to": f"Papeterie Lenoir {n}",
        "due": "2026-10-05",
        "amount": f"{n}87.00",
        "account": ACCOUNT,
        "invoice": f"F2026-00{n}",
        "the_number_of_the_supplier": "S-102",
    }
    for n in range(1, 10)
]


def pushed(screen: Screen) -> int:
    """How far the widest box of a table would have to be pushed sideways, in px."""
    count: int = screen.page.locator(".scroll-x, .results").evaluate_all(
        "all => Math.max(...all.map(el => el.scrollWidth - el.clientWidth))"
    )
    return count


def test_each_payment_of_a_list_is_read_whole_on_a_phone(house: House, people: People) -> None:
    row = payments.pay(house, args={"payments": INVOICES}, schema={"type": "object"})
    screen = people("manager", phone=True)
    screen.open(f"/approvals/{row.id}/")
    screen.see_live()
    table = screen.one(".alike table")
    first = table.get_by_role("row").nth(1)
    expect(first.get_by_role("cell")).to_have_count(7)  # with where its values come from
    account = first.get_by_role("cell", name=ACCOUNT)
    expect(account).to_be_visible()
    label = "el => getComputedStyle(el, '::before').content"
    assert account.evaluate(label) == '"account"'
    assert (pushed(screen), screen.sideways()) == (0, 0)
    box, cell = table.bounding_box(), account.bounding_box()
    assert box is not None
    assert cell is not None
    assert cell["x"] + cell["width"] <= box["x"] + box["width"] <= 390
    assert faults(screen, Axe()) == {}
    # On a desk it is the table that it was: one line per row, names on top.
    screen.page.set_viewport_size({"width": 1440, "height": 900})
    expect(table.get_by_role("columnheader", name="account")).to_be_visible()
    assert account.evaluate(label) == "none"

    # Many lines of few payees begin on a phone with what each gets; the lines are one touch away.
    lines = [line | {"to": "Papeterie Lenoir"} for line in INVOICES]
    row = payments.pay(house, args={"payments": lines}, schema={"type": "object"})
    screen.page.set_viewport_size({"width": 390, "height": 844})
    screen.open(f"/approvals/{row.id}/")
    table = screen.one(".alike table")
    expect(screen.one(".by-payee li")).to_contain_text("9 lines")
    expect(table).to_be_hidden()
    assert (screen.sideways(), faults(screen, Axe())) == (0, {})
    screen.one(".by-payee").get_by_text("Show all 9 lines").click()
    expect(table.get_by_role("cell", name=ACCOUNT).first).to_be_visible()
    screen.one(".by-payee").get_by_text("Hide the lines").click()
    expect(table).to_be_hidden()


@pytest.mark.rubric(25)
def test_ninety_payments_beside_the_last_ones_are_short_on_a_phone(
    house: House, people: People
) -> None:
    payments.decide(house, payments.pay(house, args=payments_of(3)), "manager", "approve")
    row = payments.pay(house, args=payments_of(4), schema={"type": "object"})
    screen = people("manager", phone=True)
    screen.open(f"/approvals/{row.id}/")
    screen.see_live()
    page = screen.page
    expect(screen.one(".by-payee li").first).to_be_visible()
    tall: int = page.evaluate("document.documentElement.scrollHeight")
    assert tall <= 6_000
    assert page.evaluate("document.querySelectorAll('*').length") <= 1_500
    assert (screen.sideways(), faults(screen, Axe())) == (0, {})
    # The same facts on a desk: sums by payee, no list that scrolls inside the page.
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(screen.one(".by-payee li").first).to_be_visible()
    screen.one(".by-payee").get_by_text("Show all 90 lines").click()
    table = screen.one(".alike")
    assert table.evaluate("el => el.scrollHeight - el.clientHeight") <= 1


@pytest.mark.parametrize(
    "path",
    [
        *("checkpoints/thread/", "checkpoints/event/", "checkpoints/activity/"),
        *("approvals/approval/", "approvals/decision/", "checkpoints/workspaceevent/"),
    ],
)
def test_the_records_are_read_without_pushing(
    house: House, people: People, at_gate: Case, path: str
) -> None:
    payments.decide(house, payments.pay(house), "manager", "reject", comment="too dear")
    screen = people("auditor", phone=True)
    screen.page.goto(f"{house.url}/admin/{path}")
    rows = screen.one("#result_list").get_by_role("row")
    assert rows.count() > 1
    head = screen.one("#result_list").get_by_role("columnheader").all_text_contents()
    cells = rows.nth(1).locator("th, td").evaluate_all("all => all.map(el => el.dataset.label)")
    assert cells == [text.strip() for text in head]
    assert (pushed(screen), screen.sideways()) == (0, 0)


def test_people_are_searched_on_a_phone(house: House, people: People) -> None:
    screen = people("admin", phone=True)
    screen.page.goto(f"{house.url}/admin/auth/user/")
    box = screen.one("#searchbar").bounding_box()
    assert box is not None
    assert box["width"] >= 160
    assert screen.sideways() == 0


def test_how_reviewers_do_is_read_without_pushing(house: House, people: People) -> None:
    payments.decide(house, payments.pay(house), "manager", "reject", comment="too dear")
    screen = people("admin", phone=True)
    screen.open("/approvals/reviewers/")
    row = screen.one("table.stacks").get_by_role("row").filter(has_text="manager").first
    cells = row.locator("th, td").evaluate_all("all => all.map(el => el.dataset.label)")
    assert [cells[0], cells[1], cells[-1]] == ["Reviewer", "Decided", "Newest"]
    assert (pushed(screen), screen.sideways()) == (0, 0)
    assert faults(screen, Axe()) == {}
