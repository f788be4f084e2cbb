"""Stuck threads and the query on the board, in a browser: found, listed by one click, explained."""

from __future__ import annotations

import os
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from playwright.sync_api import expect

from checkpoints import store
from checkpoints.records import Work
from checkpoints.states import EventKind
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import THEMES, faults
from tests.browser.screens import PHONE, WIDE, Screen
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.browser


def working(house: House, agent: str) -> Work:
    """A thread that we have taken before the worker of the house can."""
    with transaction.atomic():
        return scene.lease(scene.start(house.cast.workspace, scene.make_agent(agent)))


def silent(house: House, agent: str, title: str) -> UUID:
    """A thread that its worker has left without a word, and which nobody takes over."""
    work = working(house, agent)
    scene.step(work)
    rows(
        "UPDATE gp_thread SET title = %s, lease_until = NULL, status_since = status_since "
        "- interval '1 hour', last_at = last_at - interval '1 hour' WHERE id = %s",
        (title, work.thread),
    )
    return work.thread


@pytest.mark.rubric(8)
@pytest.mark.requirement("A27")
def test_one_click_lists_those_that_are_stuck_at_a_step(house: House, people: People) -> None:
    made = [silent(house, "invoices", f"Pay invoice {n}") for n in (4471, 4472)]
    silent(house, "screening", "Screen a supplier")
    lost = working(house, "screening")
    store.leave(lost, EventKind.THREAD_PARKED, reason="The worker was lost 3 times in a row.")
    screen = people("operator")
    screen.open("/")
    screen.see_live()
    # The sweep finds them by itself, and the open page shows it.
    chip = screen.page.locator("#board-stuck .chip", has_text="invoices")
    expect(chip).to_contain_text("2", timeout=60_000)
    screen.page.get_by_text("Filters", exact=True).click()
    expect(screen.page.get_by_text("label:team=finance", exact=True)).to_be_visible()
    look(screen, "board")
    assert faults(screen, Axe()) == {}
    screen.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    screen.page.get_by_text("Filters", exact=True).click()
    chip.click()
    expect(screen.page.locator("#q")).to_have_value("agent:invoices stuck:publish")
    expect(screen.page.locator("[data-row]")).to_have_count(2)
    for thread in made:
        row = screen.page.locator(f"#thread-{thread}")
        expect(row).to_contain_text("Its worker has recorded nothing.")
        expect(row).to_contain_text("Pause it, then edit or retry")
        expect(row.get_by_role("button", name="Pause")).to_be_visible()
    look(screen, "list")


def test_a_mistake_is_explained_while_one_types(house: House, people: People) -> None:
    screen = people("operator")
    screen.open("/")
    box = screen.page.locator("#q")
    box.press_sequentially("stauts:failed")
    note = screen.page.locator("#board-query")
    expect(note).to_contain_text("Did you mean “status:”?")
    expect(screen.page.locator("[data-row]")).to_have_count(0)
    assert faults(screen, Axe()) == {}
    look(screen, "mistake")
    expect(box).to_be_focused()
    box.fill("-status:cancelled")
    expect(note).to_be_empty()
    assert "q=-status" in screen.page.url


def look(screen: Screen, name: str) -> None:
    """Take pictures for anyone who wants to see them: GATEPOST_LOOK names a folder."""
    if folder := os.environ.get("GATEPOST_LOOK"):
        for width, height in (WIDE, PHONE):
            screen.page.set_viewport_size({"width": width, "height": height})
            for theme in THEMES:
                screen.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                screen.page.screenshot(path=f"{folder}/{name}-{width}-{theme}.png")
        screen.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
