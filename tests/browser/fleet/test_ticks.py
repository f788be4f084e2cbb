"""Ticks on the board: a range, kept while rows move and filters change, taken to the dialog."""

from __future__ import annotations

from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.retry import RETRY
from tests.browser.conftest import People
from tests.browser.fleet.test_stuck import look, working
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.browser.screens import PHONE, WIDE
from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.browser


def failed(house: House, title: str) -> UUID:
    """A failed thread of this title; each with an error of its own, so that none are grouped."""
    work = working(house, "ticking")
    rows("UPDATE gp_thread SET title = %s WHERE id = %s", (title, work.thread))
    store.leave(work, EventKind.THREAD_FAILED, reason=f"{title}: the file is missing")
    return work.thread


@pytest.mark.rubric(6)
def test_ticks_stay_with_their_threads_and_go_to_the_dialog(house: House, people: People) -> None:
    made = [failed(house, title) for title in ("Anna", "Bert", "Carl", "Dora")]
    screen = people("operator")
    screen.open("/?q=agent:ticking")
    screen.see_live()
    page, bar = screen.page, screen.one("#ticked")
    boxes = page.locator("#board-lanes [data-tick]")
    expect(boxes).to_have_count(4)
    expect(bar).to_be_hidden()
    order = boxes.evaluate_all("all => all.map(one => one.value)")
    # A range, then one less.
    boxes.nth(0).check()
    boxes.nth(3).click(modifiers=["Shift"])
    expect(bar).to_contain_text("4 ticked")
    boxes.nth(1).uncheck()
    expect(bar).to_contain_text("3 ticked")
    look(screen, "ticks")
    screen.page.emulate_media(color_scheme="light")
    assert faults(screen, Axe()) == {}
    # One of them goes to another lane: the tick goes along.
    moved = UUID(order[0])
    RETRY.run(house.cast.actor("operator"), Nothing(), moved)
    row = page.locator(f"#thread-{moved}")
    expect(row).not_to_have_attribute("data-status", "failed")
    expect(row.locator("[data-tick]")).to_be_checked()
    expect(page.locator("#board-lanes [data-tick]:checked")).to_have_count(3)
    # A filter that hides one doesn't lose it.
    title = queries.thread(moved, workspace=house.cast.workspace).title
    page.locator("#q").fill(f"agent:ticking {title}")
    expect(page.locator("#board-lanes [data-row]")).to_have_count(1)
    expect(bar).to_contain_text("3 ticked, 2 not on this page")
    page.locator("#q").fill("agent:ticking")
    expect(page.locator("#board-lanes [data-tick]:checked")).to_have_count(3)
    # By keys: x ticks the row, a takes them to the dialog.
    page.locator(f"#thread-{order[1]} .title").focus()
    page.keyboard.press("x")
    expect(bar).to_contain_text("4 ticked")
    page.keyboard.press("x")
    expect(bar).to_contain_text("3 ticked")
    page.keyboard.press("a")
    page.wait_for_url("**/threads/many/")
    dialog = page.locator("#many [name=thread]")
    chosen = {value.partition(":")[0] for value in dialog.evaluate_all("a => a.map(b => b.value)")}
    assert chosen == set(order) - {order[1]}
    assert set(chosen) < {str(thread) for thread in made}
    page.get_by_label("Cancel They end").check()
    page.get_by_label("Reason").fill("No longer needed")
    screen.press("Preview")
    expect(page.get_by_role("heading", level=1)).to_have_text("Cancel 3 threads?")
    screen.press("Cancel 3 threads")
    expect(page.locator("#q")).to_have_value("agent:ticking")
    status = {
        one: queries.thread(UUID(one), workspace=house.cast.workspace).status for one in order
    }
    assert {one for one in order if status[one] == Status.FAILED} == {order[1]}


def test_on_a_phone_and_without_the_right_to_act(house: House, people: People) -> None:
    failed(house, "Emil")
    screen = people("operator")
    screen.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    screen.open("/?q=agent:ticking")
    box = screen.page.locator("#board-lanes [data-tick]").first
    box.check()
    expect(screen.one("#ticked")).to_contain_text("1 ticked")
    size = box.locator("..").bounding_box()
    assert size is not None
    assert min(size["width"], size["height"]) >= 44
    assert screen.sideways() == 0
    screen.press("Clear")
    expect(screen.one("#ticked")).to_be_hidden()
    screen.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    viewer = people("viewer")
    viewer.open("/?q=agent:ticking")
    expect(viewer.page.locator("#board-lanes [data-row]").first).to_be_visible()
    expect(viewer.page.locator("#board-lanes [data-tick]")).to_have_count(0)
