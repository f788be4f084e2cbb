"""An admin makes a webhook in the records, tries it, and changes its secret; axe finds nothing."""

from __future__ import annotations

import os

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen

from .test_accessible import faults

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def test_an_admin_makes_and_tries_an_endpoint(house: House, people: People) -> None:
    screen = people("admin")
    page = screen.page
    page.goto(f"{house.url}/admin/")
    page.get_by_role("link", name="Endpoints", exact=True).click()
    page.get_by_role("link", name="Add endpoint").click()
    page.get_by_label("Kind:").select_option("webhook")
    page.get_by_label("Name:").fill("agent elsewhere")
    # A port of this machine: refused at once, and nothing is kept.
    page.get_by_label("Target:").fill("https://127.0.0.1/in")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("not an address of the public internet").wait_for()
    page.get_by_label("Kind:").select_option("webhook")
    page.get_by_label("Name:").fill("agent elsewhere")
    page.get_by_label("Target:").fill("https://agent.invalid/in/t0k3n")
    page.get_by_label("approval.decided").check()
    assert faults(screen, Axe()) == {}
    page.get_by_role("button", name="Save", exact=True).click()
    first = page.locator("pre").inner_text()
    assert first.startswith("whsec_")
    assert faults(screen, Axe()) == {}
    look(screen, "secret")
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Send a test message").click()
    page.get_by_text("A worker sends a test message").wait_for()
    assert first not in page.content()
    assert "t0k3n" not in page.content()
    assert faults(screen, Axe()) == {}
    look(screen, "endpoint")
    page.get_by_role("link", name="Its deliveries").click()
    page.get_by_text("endpoint.test").first.wait_for()
    assert faults(screen, Axe()) == {}
    look(screen, "deliveries")
    page.go_back()
    page.get_by_role("button", name="New secret").click()
    assert page.locator("pre").inner_text() not in ("", first)
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Switch off").click()
    page.get_by_text("agent elsewhere is switched off.").wait_for()
    assert page.get_by_role("button", name="Send a test message").count() == 0


def look(screen: Screen, name: str) -> None:
    """A picture for anyone who wants to see it: GATEPOST_LOOK names a folder."""
    if folder := os.environ.get("GATEPOST_LOOK"):
        screen.page.set_viewport_size({"width": 1280, "height": 900})
        screen.page.screenshot(path=f"{folder}/{name}.png")
