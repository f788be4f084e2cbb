"""New input on the page: sent by a form, seen by all at once, gone when the next step took it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from checkpoints import store
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def test_a_message_is_shown_until_the_next_step_takes_it(house: House, people: People) -> None:
    case = house.play("look a", "hear b", hold=("in-a",))
    case.wait_called("a")
    operator, auditor = people("operator"), people("auditor")
    page = operator.open(f"/threads/{case.id}/")
    other = auditor.open(f"/threads/{case.id}/")
    expect(other.locator("#thread-input")).to_be_hidden()
    page.locator("#f-message").fill("look <north>")
    operator.press("Send input")
    expect(page.locator("#thread-input")).to_contain_text("1 not taken yet")
    expect(page.locator(".inputs li")).to_contain_text("look <north>")
    # Pushed to everybody who looks; who may not send sees it without a form.
    expect(other.locator(".inputs li")).to_contain_text("look <north>")
    expect(other.locator("#f-message")).to_have_count(0)

    page.locator("#f-message").fill("half a sen")
    store.send_input(case.id, message="and south", actor="user:1")
    expect(page.locator(".inputs li")).to_have_count(2)
    expect(page.locator("#f-message")).to_have_value("half a sen")  # a push wipes nothing
    case.go("in-a")
    operator.see_status("succeeded")
    expect(page.locator(".inputs li")).to_have_count(0)
    expect(other.locator("#thread-input")).to_be_hidden()
    assert case.calls("b") == ["look <north>+and south"]
    expect(page.locator("#thread-events")).to_contain_text("operator sent: “look <north>”")
