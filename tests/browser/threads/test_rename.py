"""A thread is renamed beside its title; other windows follow, and what is typed there stays."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("phone", [False, True])
def test_the_new_title_appears_everywhere_and_a_draft_stays(
    house: House, people: People, phone: bool
) -> None:
    case = house.play("look a", "look b", hold=("in-a",))
    case.wait_called("a")
    mine, other = people("operator", phone=phone), people("operator")
    for window in (mine, other):
        window.open(f"/threads/{case.id}/")
        window.see_live()
    other.one("#renaming > summary").click()
    other.one("#new-title").fill("A draft")

    mine.one("#renaming > summary").click()
    mine.one("#new-title").fill("Orders of October")
    assert mine.sideways() == 0
    mine.one("#renaming").get_by_role("button", name="Rename").click()
    expect(mine.one("h1")).to_have_text("Orders of October")
    expect(mine.one("[data-region=thread-events], #events").first).to_contain_text("renamed")

    expect(other.one("h1")).to_have_text("Orders of October")
    expect(other.one("#new-title")).to_be_visible()
    expect(other.one("#new-title")).to_have_value("A draft")
    case.go("in-a")
    mine.see_status("succeeded")
    assert case.row().title == "Orders of October"
