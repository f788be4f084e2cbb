"""Pages of incidents in a browser: by hand, by keyboard, in both themes, on a phone."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from playwright.sync_api import expect

from approvals.incidents.sweep import sweep_incidents
from dashboard.board.incidents.close import CLOSE, CloseIncident
from dashboard.board.incidents.snooze import SNOOZE, SnoozeIncident, time_after
from dashboard.board.incidents.take import GIVE_BACK, TAKE
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.unit.approvals.incidents.scenes import fails, incidents, subscribe

pytestmark = [pytest.mark.browser, pytest.mark.requirement("E01")]


@pytest.fixture(scope="module")
def trouble(house: House) -> UUID:
    """Thirty threads of the workspace that failed alike, and a subscription of the operator."""
    for n in range(30):
        with transaction.atomic():  # the worker never sees it queued
            fails(house.cast, f"publish: HTTP 503 for order {n}, long enough to wrap on a phone")
    sweep_incidents()
    subscribe(house.cast, label="team=eu")
    return incidents(house.cast, state="open", kind="thread.failed", agent="research")[0].id


@pytest.mark.parametrize("name", ["list", "detail", "notifications", "subscribe", "board"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    house: House, people: People, trouble: UUID, name: str
) -> None:
    paths = {
        "list": "/incidents/",
        "detail": f"/incidents/{trouble}/",
        "notifications": "/subscriptions/",
        "subscribe": "/subscriptions/new/",
        "board": "/",
    }
    screen = people("operator")
    screen.open(paths[name])
    assert faults(screen, Axe()) == {}


def test_the_list_follows_and_keeps_focus_and_place(
    house: House, people: People, trouble: UUID
) -> None:
    """New incidents come above and taken ones change, without a reload or a move of the focus."""
    screen = people("viewer")
    screen.open("/incidents/")
    page = screen.page
    page.evaluate("window.sameDocument = true")
    link = page.locator(f"#incident-{trouble} a")
    link.focus()
    page.mouse.move(0, 0)
    expect(page.locator("#live-badge")).to_have_attribute("data-state", "live")
    n_before = page.locator("[id^=incident-]").count()  # other files share the house
    for n in range(12):
        with transaction.atomic():  # the worker never sees it queued
            fails(house.cast, f"pay: refused by bank {n}", agent=f"payments_{n:02}")
    sweep_incidents()
    expect(page.locator("[id^=incident-]")).to_have_count(n_before + 12, timeout=15_000)
    focused = "document.activeElement.closest('tr')?.id"
    assert page.evaluate(focused) == f"incident-{trouble}"
    TAKE.run(house.cast.actor("manager"), Nothing(), trouble)
    expect(page.locator(f"#incident-{trouble}")).to_contain_text("manager", timeout=15_000)
    assert page.evaluate(focused) == f"incident-{trouble}"
    page.evaluate("window.scrollTo(0, 200)")
    before = link.evaluate("e => e.getBoundingClientRect().top")
    closed = incidents(house.cast, agent="payments_00")[0].id
    CLOSE.run(house.cast.actor("manager"), CloseIncident(reason="known since Monday"), closed)
    expect(page.locator(f"#incident-{closed}")).to_have_count(0, timeout=15_000)
    assert abs(link.evaluate("e => e.getBoundingClientRect().top") - before) < 80
    assert page.evaluate(focused) == f"incident-{trouble}"
    assert page.evaluate("window.sameDocument"), "no reload"
    GIVE_BACK.run(house.cast.actor("manager"), Nothing(), trouble)


def test_one_incident_follows_and_keeps_focus_place_and_what_is_written(
    house: House, people: People, trouble: UUID
) -> None:
    """Others take, snooze and close it; threads join: without a reload, and no draft is lost."""
    screen = people("operator")
    with transaction.atomic():
        fails(house.cast, "post: HTTP 503", agent="outreach")
    sweep_incidents()
    ident = incidents(house.cast, state="open", agent="outreach")[0].id
    screen.open(f"/incidents/{ident}/")
    page, other = screen.page, house.cast.actor("manager")
    page.set_viewport_size({"width": 800, "height": 400})
    page.evaluate("window.sameDocument = true")
    expect(page.locator("#live-badge")).to_have_attribute("data-state", "live")
    reason = page.get_by_label(re.compile("Reason to close"))
    reason.fill("known since")
    page.evaluate("window.scrollTo(0, 120)")
    before = reason.evaluate("e => e.getBoundingClientRect().top")
    verbs = page.locator("#incident-verbs")
    TAKE.run(other, Nothing(), ident)
    expect(page.locator("#facts")).to_contain_text("manager", timeout=15_000)
    expect(verbs.get_by_role("button", name="Assign to me")).to_have_count(0)
    with transaction.atomic():
        fails(house.cast, "post: HTTP 504", agent="outreach")
    sweep_incidents()
    expect(page.locator("#incident-newest [id^=part-]")).to_have_count(2, timeout=15_000)
    assert reason.evaluate("e => e === document.activeElement")
    assert abs(reason.evaluate("e => e.getBoundingClientRect().top") - before) < 60
    reason.press_sequentially(" Monday")
    until = time_after(timedelta(hours=4))
    SNOOZE.run(other, read(SnoozeIncident, {"until": until}), ident)
    expect(page.locator("#facts")).to_contain_text("Snoozed until", timeout=15_000)
    expect(reason).to_have_value("known since Monday")
    CLOSE.run(other, CloseIncident(reason="fixed"), ident)
    expect(page.locator("#facts")).to_contain_text("fixed", timeout=15_000)
    expect(verbs).to_contain_text("This incident is closed")
    expect(reason).to_have_value("known since Monday")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_hidden()
    assert page.evaluate("window.sameDocument"), "no reload"


def test_a_person_takes_an_incident_and_closes_it(
    house: House, people: People, trouble: UUID
) -> None:
    screen = people("operator")
    screen.open("/")
    screen.page.get_by_role("link", name=re.compile("open incident")).click()
    screen.page.get_by_role("link", name="Failed: 30 threads of research").first.click()
    screen.press("Assign to me")
    expect(screen.page.locator("#toasts")).to_contain_text("The incident is assigned to you.")
    expect(screen.one("#facts")).to_contain_text("operator")
    screen.page.get_by_label("Snooze for").select_option("24")
    screen.press("Snooze")
    expect(screen.one("#facts")).to_contain_text("Snoozed until")
    screen.page.get_by_label(re.compile("Reason to close")).fill("known since Monday")
    screen.press("Close")
    expect(screen.one("#facts")).to_contain_text("known since Monday")
    assert screen.one("#handle").count() == 0
