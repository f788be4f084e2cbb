"""An auditor finds out in the records who decided what; no script, no fault, nothing to press."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.faults.bench import Case

from .test_accessible import faults

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def test_an_auditor_finds_who_decided_what(house: House, people: People) -> None:
    case = house.start(question="Which airport is coldest?", dataset="weather", title="Coldest")
    case.wait_status("waiting", seconds=60)
    house.decide(case, "reject", "Too few rows for a claim")
    case.wait_status("failed", "succeeded", "paused", "cancelled", seconds=60)
    page = people("auditor").page
    page.goto(f"{house.url}/")
    page.get_by_role("link", name="Records").click()
    page.get_by_role("link", name="Decisions", exact=True).click()
    page.get_by_role("link", name="reject", exact=True).click()
    row = page.get_by_role("row").filter(has_text="Too few rows for a claim")
    assert "manager" in row.inner_text()
    row.get_by_role("link").first.click()
    page.get_by_text("Too few rows for a claim").wait_for()
    page.get_by_role("link", name="Raw record").click()
    page.get_by_role("link", name="Open the thread").click()
    assert page.url == f"{house.url}/threads/{case.id}/"
    page.goto(f"{house.url}/admin/checkpoints/event/?thread_id={case.id}")
    page.get_by_role("link", name="approval", exact=True).click()
    expect(page.locator("#result_list tbody tr")).to_have_count(2)
    page.get_by_role("searchbox", name="Search").fill("manager")
    page.get_by_role("button", name="Search").click()
    page.locator("#result_list tbody th a").click()
    page.get_by_text("approval.decided").first.wait_for()
    assert re.fullmatch(r"[0-9a-f]{64}", page.locator("dt:text-is('hash') + dd").inner_text())
    for word in ("Save", "Delete", "Add"):
        assert page.get_by_role("button", name=word).count() == 0
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") in ("light", "dark")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "checkpoints/event/",
        "checkpoints/thread/?status=waiting",
        "checkpoints/workspaceevent/",
        "password_change/",
    ],
)
def test_axe_finds_nothing_in_the_records(
    house: House, people: People, at_gate: Case, path: str
) -> None:
    screen = people("auditor")
    screen.page.goto(f"{house.url}/admin/{path}")
    assert faults(screen, Axe()) == {}


@pytest.mark.parametrize("path", ["auth/user/", "auth/user/add/", "checkpoints/membership/add/"])
def test_axe_finds_nothing_in_the_forms(house: House, people: People, path: str) -> None:
    screen = people("admin")
    screen.page.goto(f"{house.url}/admin/{path}")
    assert faults(screen, Axe()) == {}


def test_an_admin_sets_a_password_under_the_policy(house: House, people: People) -> None:
    viewer = house.cast.users["viewer"]
    page = people("admin").page
    page.goto(f"{house.url}/admin/auth/user/{viewer.pk}/password/")
    page.get_by_label("Password:", exact=True).fill("correct horse 9")
    page.get_by_label("Password confirmation:").fill("correct horse 9")
    page.get_by_role("button", name="Change password").or_(
        page.locator("input[type=submit].set-password")
    ).first.click()
    page.get_by_text("Password changed successfully.").wait_for()
    viewer.refresh_from_db()
    assert viewer.check_password("correct horse 9")
