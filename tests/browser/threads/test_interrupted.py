"""Somebody interrupts a thread in the middle of an effect, by the buttons of its page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser
REASON = "deliver had started; whether it happened is unknown."


@pytest.mark.requirement("A43")
def test_it_is_told_where_to_stop_and_a_cancel_says_what_it_cuts_off(
    house: House, people: People
) -> None:
    case = house.play("look a, deliver parcel", "look b", hold=("in-parcel",))
    case.wait_called("parcel")
    operator, auditor = people("operator"), people("auditor")
    page = operator.open(f"/threads/{case.id}/")
    other = auditor.open(f"/threads/{case.id}/")
    expect(other.locator("#thread-stop")).to_be_hidden()

    page.get_by_label("Node to stop before").select_option("play")
    operator.press("Stop there")
    expect(page.locator("#thread-stop")).to_contain_text("It stops before play.")
    expect(other.locator("#thread-head")).to_contain_text("Stops before play")
    case.go("in-parcel")
    operator.see_status("paused")  # the step was finished first
    expect(page.locator("#thread-activities tr[data-state=done]")).to_have_count(2)

    case = house.play("deliver second", hold=("in-second",))
    case.wait_called("second")
    operator.open(f"/threads/{case.id}/")
    operator.press("Cancel")
    request = page.locator("#interrupted")
    expect(request).to_contain_text("deliver has started: whether it happened will be unknown.")
    page.get_by_role("button", name="Cancel the thread").click()
    operator.see_status("cancelled")
    expect(page.locator("body")).to_contain_text(f"Cancelled. {REASON}")
    expect(page.locator("#thread-note")).to_contain_text(f"The thread was cancelled. {REASON}")
    expect(page.locator("#thread-activities tr[data-state=unknown]")).to_have_count(1)
    case.go("in-second")
    case.wait_event("step.fenced")
    expect(page.locator("#thread-events")).to_contain_text(
        "deliver had started, with an unknown outcome"
    )
