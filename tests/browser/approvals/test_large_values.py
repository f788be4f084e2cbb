"""A very long text of a request opens in its place; many lines by their keys are a table."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import payments
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser
TEXT = "".join(f"word {n} " for n in range(17_000))


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_a_long_text_opens_in_its_place(house: House, people: People, phone: bool) -> None:
    lines = {f"P-{n}": {"to": f"Ada {n}", "amount": f"{n}.00", "due": "today"} for n in range(40)}
    row = payments.pay(house, args={"note": TEXT, "lines": lines})
    screen = people("manager", phone=phone)
    page = screen.open(f"/approvals/{row.id}/")
    screen.see_live()
    expect(page.locator("#lines th").first).to_have_text("key")
    expect(page.locator("#lines tbody tr")).to_have_count(40)
    text = page.locator("#exactly .s", has_text="word 0")
    expect(text).not_to_contain_text("word 100 ")
    text.locator("a.cut").press("Enter")
    expect(text).to_contain_text("word 9000 ")
    assert page.url.endswith(f"/approvals/{row.id}/")
    text.locator("a.cut").click()
    expect(text).to_contain_text("word 16999 ")
    expect(text.locator("a.cut")).to_have_count(0)
    assert screen.documents == [f"GET /approvals/{row.id}/"]
    assert screen.sideways() == 0

    still = people("manager", phone=phone, java_script_enabled=False)
    page = still.open(f"/approvals/{row.id}/")
    page.locator("#exactly a.cut").click()
    expect(page).to_have_url(re.compile(r"\?text=/note&start=400$"))
    expect(page.locator("#exactly")).to_contain_text("word 9000 ")
