"""Parts of a state open in their place, and by a link without scripts; files are looked into."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.faults.bench import Case

pytestmark = pytest.mark.browser


def test_a_part_of_a_state_opens_in_its_place_and_stays_open(people: People, at_gate: Case) -> None:
    viewer = people("viewer")
    page = viewer.open(f"/threads/{at_gate.id}/?tab=state")
    viewer.see_live()
    link = page.locator("#thread-state a.fold").first
    address = link.get_attribute("href")
    assert address
    link.press("Enter")
    opened = page.locator(f'#thread-state li[data-value="{address}"] > details[open]')
    expect(opened).to_be_visible()
    expect(opened.locator("> summary")).to_be_focused()
    assert page.url.endswith("?tab=state")
    # The server knows nothing of it: what it shows anew leaves the opened part alone.
    page.evaluate("gatepost.ask().then(() => new Promise(requestAnimationFrame))")
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    expect(opened).to_be_visible()
    assert viewer.documents == [f"GET /threads/{at_gate.id}/"]

    still = people("viewer", java_script_enabled=False)
    page = still.open(f"/threads/{at_gate.id}/?tab=state")
    page.locator("#thread-state a.fold").first.click()
    expect(page).to_have_url(re.compile(f"{re.escape(address)}$"))
    expect(page.locator("#value .tree")).to_be_visible()


def test_pages_of_parts_errors_and_files_are_accessible(
    house: House, people: People, at_gate: Case
) -> None:
    viewer, axe = people("viewer"), Axe()
    page = viewer.open(f"/threads/{at_gate.id}/?kind=errors")
    expect(page.locator("#thread-events")).to_contain_text("No errors.")
    assert faults(viewer, axe) == {}
    viewer.open(f"/threads/value/?of={at_gate.id}:{at_gate.row().number}&at=/analysis")
    assert faults(viewer, axe) == {}
    for kind, name in (("picture", ".png"), ("table", ".csv")):
        page = viewer.open(f"/threads/{at_gate.id}/")
        page.locator("#thread-artifacts li", has_text=name).first.get_by_text("Preview").click()
        expect(page.locator("#preview")).to_have_attribute("data-kind", kind)
        if kind == "picture":
            width = "img => img.decode().then(() => img.naturalWidth)"
            assert page.locator("#preview img").evaluate(width) > 100
    assert faults(viewer, axe) == {}
