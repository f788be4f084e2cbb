"""A person chooses columns, saves the board and shares it; another one opens it by its chip."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.faults.bench import Case

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.rubric(3)
def test_a_view_is_saved_shared_and_opened_by_somebody_else(
    house: House, people: People, at_gate: Case
) -> None:
    one, other = people("operator"), people("auditor")
    one.open("/?status=waiting")
    one.page.get_by_text("Columns", exact=True).first.click()
    one.page.get_by_label("Cost").check()
    one.page.get_by_label("Compact").check()
    one.page.get_by_role("button", name="Show", exact=True).click()
    expect(one.page.get_by_role("columnheader", name="Cost")).to_be_visible()
    one.page.get_by_text("Save view").click()
    one.page.get_by_label("Name").fill("Waiting and cost")
    one.page.get_by_label("Share with the workspace").check()
    one.page.get_by_role("button", name="Save", exact=True).click()
    chip = one.page.get_by_role("link", name=re.compile("^Waiting and cost"))
    expect(chip).to_have_attribute("aria-current", "true")

    other.open("/")
    other.page.get_by_role("link", name=re.compile("^Waiting and cost")).click()
    expect(other.page.get_by_role("columnheader", name="Cost")).to_be_visible()
    shown = other.one("#board-lanes a.title").all_inner_texts()
    assert shown
    assert shown == one.one("#board-lanes a.title").all_inner_texts()

    # Search rewrites the address: the look stays, and the board is another one than the chip's.
    one.one("#q").fill("airports")
    expect(one.page).to_have_url(re.compile(r"(?=.*q=airports)(?=.*density=compact)"))
    expect(chip).not_to_have_attribute("aria-current", "true")
    expect(one.page.get_by_role("columnheader", name="Cost")).to_be_visible()
