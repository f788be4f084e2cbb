"""An admin writes a policy in the browser, and the next request of a working worker obeys it."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dashboard.threads.cancel import cancel
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def test_a_policy_edited_in_the_admin_changes_the_next_request(
    house: House, people: People
) -> None:
    before = house.play("shout early")
    before.wait_status("succeeded")
    worker = {e.actor for e in before.events() if e.kind == "lease.acquired"}

    admin = people("admin")
    page = admin.open("/admin/")
    page.get_by_role("link", name="Policies and spend caps").click()
    expect(page.get_by_role("heading", name="Policies", exact=True)).to_be_visible()
    assert faults(admin, Axe()) == {}
    page.get_by_role("link", name="New policy").click()
    page.get_by_label("Name", exact=False).first.fill("Loud things")
    condition = page.locator("#id_condition")
    condition.fill("tol == 'shout'")
    page.get_by_label("Why").fill("the neighbours complained")
    admin.allow("422")
    page.get_by_role("button", name="Test against past actions").click()
    expect(page.get_by_role("alert")).to_contain_text("knows no 'tol'")
    condition.fill("tool.startsWith('shout') && args.name != 'secret'")
    page.get_by_role("button", name="Test against past actions").click()
    expect(page.locator("#tried h2")).to_contain_text("Would have matched")
    expect(page.locator("#tried li").first).to_contain_text("shout")
    assert faults(admin, Axe()) == {}
    assert house.play("shout unasked").wait_status("succeeded")  # nothing is saved by trying
    page.get_by_role("button", name="Create policy").click()
    expect(page.locator(".messagelist")).to_contain_text("Loud things is created")

    request = house.play("shout asked")
    request.wait_status("waiting")
    assert request.calls("asked") == []
    row = request.open()
    assert row.policy_version.endswith("@1")
    assert row.terms is not None
    assert "the neighbours complained" in row.terms["rule"]
    assert {e.actor for e in request.events() if e.kind == "lease.acquired"} == worker
    house.decide(request, "approve")
    request.wait_status("succeeded")
    assert len(request.calls("asked")) == 1

    # Another version: what waits is reopened, and what is asked no more goes on.
    saved, freed = house.play("shout kept"), house.play("shout freed")
    for case in (saved, freed):
        case.wait_status("waiting")
    page.reload()
    condition.fill("tool.startsWith('shout') && args.name == 'kept'")
    admin.allow("409")
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_role("alert").first).to_contain_text("2 open, 0 held and 0 settled requests")
    page.get_by_label("withdrawn and re-requested under the new version").check()
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.locator(".messagelist")).to_contain_text("Reopened: 2")
    expect(page.get_by_role("heading", name="Version 2")).to_be_visible()
    expect(page.locator(".facts del").first).to_contain_text("!= 'secret'")
    freed.wait_status("succeeded")
    saved.wait_event("approval.requested", 2)
    assert saved.open().policy_version.endswith("@2")
    phone = people("auditor", phone=True)
    phone.open("/admin/policies/")
    assert phone.sideways() == 0
    assert faults(phone, Axe()) == {}

    page.get_by_role("link", name="Policies", exact=True).click()
    page.get_by_role("button", name="Switch off").click()
    expect(page.locator(".policy.off")).to_contain_text("switched off")
    last: Any = house.play("shout last")
    last.wait_status("succeeded")
    cancel(house.cast.actor("operator"), saved.id)
