"""The message of something done: below, spoken, moves nothing, with Undo where there is one."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from playwright.sync_api import expect

from approvals.incidents.sweep import sweep_incidents
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.unit.approvals.incidents.scenes import fails, incidents

pytestmark = [pytest.mark.browser, pytest.mark.requirement("E01")]


@pytest.mark.slow
def test_what_was_done_is_said_below_and_taken_back(house: House, people: People) -> None:
    screen = people("operator")
    with transaction.atomic():  # the worker never sees it queued
        fails(house.cast, "toast: HTTP 503", agent="toaster")
    sweep_incidents()
    ident = incidents(house.cast, agent="toaster")[0].id
    screen.page.clock.install()
    screen.open(f"/incidents/{ident}/")
    page, toast = screen.page, screen.page.locator("#toasts > .note")
    top = "document.querySelector('#main').getBoundingClientRect().top"
    before = page.evaluate(top)
    screen.press("Assign to me")
    expect(toast).to_contain_text("The incident is assigned to you.")
    expect(page.locator("#say")).to_have_text("The incident is assigned to you.")
    assert page.evaluate(top) == before, "the page is not moved"
    assert toast.evaluate("e => getComputedStyle(e.parentElement).position") == "fixed"
    assert faults(screen, Axe()) == {}
    screen.press("Undo")
    expect(toast).to_contain_text("The incident is unassigned.")
    assert incidents(house.cast, agent="toaster")[0].taken_by == ""
    still = people("operator", java_script_enabled=False)
    still.open(f"/incidents/{ident}/")
    still.press("Assign to me")
    words = still.page.locator("#toasts > .note")
    expect(words.get_by_role("button", name="Undo")).to_be_visible()
    above, title = words.bounding_box(), still.one("h1").bounding_box()
    assert above
    assert title
    assert above["y"] < title["y"], "without scripts it stands above the page"
    page.mouse.move(0, 0)
    page.clock.fast_forward(11_000)
    expect(toast).to_have_count(0)
