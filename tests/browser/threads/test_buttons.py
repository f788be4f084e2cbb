"""The buttons of a thread: pause, resume, cancel, edit, retry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser


@pytest.mark.requirement("A34")
def test_a_thread_pauses_after_its_step_resumes_and_is_cancelled(
    house: House, people: People
) -> None:
    case = house.play("look a", "look b", "look c", hold=("in-a", "in-b"))
    case.wait_called("a")
    operator = people("operator")
    operator.open(f"/threads/{case.id}/")
    operator.see_status("running")
    operator.press("Pause")
    expect(operator.one("#thread-head")).to_contain_text("Pause requested")
    case.go("in-a")
    operator.see_status("paused")
    assert (case.row().step, case.row().lease_owner, case.calls("b")) == (1, "", [])

    operator.press("Resume")
    operator.see_status("running")
    case.wait_called("b")
    operator.press("Cancel")
    row = operator.one("#cancel")
    expect(row).to_contain_text("Cancel this thread?")
    expect(row).to_contain_text("It changed nothing outside")
    row.get_by_role("button", name="Cancel the thread").click()
    operator.see_status("cancelled")
    case.go("in-b")
    expect(operator.one("[data-action=cancel]")).to_have_attribute("aria-disabled", "true")
    case.wait_event("step.fenced")
    assert (case.row().status, case.row().step, case.calls("c")) == ("cancelled", 1, [])


def test_a_thread_stops_before_the_node_that_was_named_at_its_start(
    house: House, people: People
) -> None:
    operator = people("operator")
    page = operator.open("/threads/new/?agent=orders")
    page.get_by_role("textbox", name="Folder").fill(str(house.folder))
    page.get_by_label("Stop before").select_option("buy")
    operator.press("Start")
    operator.see_status("paused")
    expect(operator.one("#plan-buy")).to_have_attribute("data-state", "now")
    operator.press("Resume")
    operator.see_status("waiting")


def test_a_broken_column_fails_with_a_reason_and_finishes_after_edit_and_retry(
    house: House, people: People, broken_shop: Path
) -> None:
    operator = people("operator")
    page = operator.open("/threads/new/?agent=market-research")
    page.get_by_role("textbox", name="Question").fill("Which shop is dear?")
    page.get_by_label("Your own table").set_input_files(broken_shop)
    page.get_by_role("textbox", name="Measure").fill("price")
    page.get_by_role("textbox", name="Title").fill("Prices by shop")
    operator.press("Start")
    page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    case = house.case(page.url.rstrip("/").rpartition("/")[2])
    operator.see_status("failed")
    why = operator.one("#thread-note")
    expect(why).to_contain_text("The column price should hold numbers")
    expect(why).to_contain_text("on demand in row 11,101")
    expect(why.locator("code", has_text="ignore").first).to_be_visible()
    assert case.row().step == 1

    # The board offers the same way out.
    board = people("operator")
    board.open("/?status=failed&q=Prices+by+shop")  # others failed before
    row = board.one(f"#thread-{case.id}")
    expect(row).to_contain_text("The column price should hold numbers")
    expect(row.get_by_role("button", name="Retry")).to_be_visible()

    # Retrying alone changes nothing: the same step fails for the same reason.
    failures = case.kinds().count("thread.failed")
    operator.press("Retry")
    case.wait_event("thread.failed", failures + 1, seconds=60)
    operator.see_status("failed")

    operator.press("Edit")
    page.get_by_role("textbox", name="Ignore").fill("price")
    page.get_by_label("Reason for the record").fill("Prices come from another list.")
    operator.press("Save changes")
    expect(operator.one("#thread-state")).to_contain_text("ignore")
    operator.press("Retry")
    operator.see_status("waiting")
    assert case.state()["summary"]["measure"]["name"] != "price"
    house.decide(case, "approve")
    operator.see_status("succeeded")
    expect(operator.one("#published li")).to_have_count(4)
