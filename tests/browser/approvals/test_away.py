"""A reviewer who is away, in a browser: a deputy is named, told what they are, and decides."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from approvals.notify import endpoints
from approvals.notify.channels import push
from approvals.rules.terms import Seat, Terms
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import WIDE, faults
from tests.browser.requests import agent_of, ask
from tests.faults.embedded.helpers import wait_until
from tests.unit.approvals.notify.test_push import Browser
from tests.unit.approvals.post import web_hook

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_deputy_is_named_and_decides_under_both_names(house: House, people: People) -> None:
    terms = Terms(stages=(Seat(people=("manager",)),))
    agent = agent_of("refunds")
    workspace = house.cast.workspace
    row, other = (
        ask(workspace, agent, title, terms=terms, policy_version="p@1")
        for title in ("Pay A", "Pay B")
    )
    owner, deputy = people("manager"), people("second_manager")
    deputy.open(f"/approvals/{row.id}/")
    expect(deputy.one("#decision")).to_contain_text("This is for manager to decide.")
    # One request is handed over.
    owner.open(f"/approvals/{other.id}/")
    owner.one("#hand-over").click()
    owner.page.get_by_label("Reason").fill("you know this customer")
    assert faults(owner, Axe()) == {}
    owner.press("Hand over")
    expect(owner.page.locator("#toasts")).to_contain_text("second_manager can decide this")
    # And everything for a week.
    owner.open("/deputies/")
    today = datetime.now(UTC).date()
    owner.page.get_by_label("First day away").fill(f"{today}")
    owner.page.get_by_label("Last day away").fill(f"{today + timedelta(days=6)}")
    owner.page.get_by_label("Reason").fill("holiday")
    owner.press("Name deputy")
    expect(owner.one("#deputies")).to_contain_text("second_manager for manager")
    assert faults(owner, Axe()) == {}
    deputy.open("/approvals/?box=mine")
    expect(deputy.page.get_by_role("link", name="Pay A")).to_be_visible()
    deputy.open(f"/approvals/{row.id}/")
    expect(deputy.one("#acts-for")).to_contain_text("You decide for manager")
    assert faults(deputy, Axe()) == {}
    deputy.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    deputy.one("#decision button[data-decide=approve]").click()
    expect(deputy.one("#outcome")).to_be_visible()
    deputy.open(f"/approvals/{row.id}/")
    expect(deputy.one("#approval-main")).to_contain_text("second_manager for manager")


# What a push service answers, which Chromium has none of here: address and keys.
SUBSCRIBES = """
  PushManager.prototype.subscribe = async function ({ userVisibleOnly, applicationServerKey }) {
    sessionStorage.setItem("asked", JSON.stringify([userVisibleOnly, applicationServerKey]));
    return { toJSON: () => (%s) };
  };
"""


@pytest.mark.slow
@pytest.mark.requirement("E01")
def test_the_button_lets_messages_come_to_this_device(house: House, people: People) -> None:
    """All but the push service is ours: button, worker, call, list, sender; the device decrypts."""
    workspace, browser = house.cast.workspace, Browser()
    endpoints.make(workspace, "push", endpoints.Wanted(name="devices"), actor="user:0")
    screen = people("manager", permissions=["notifications"])
    with web_hook(host="127.0.0.2") as service:
        device = browser.at(f"{service.url}/device")
        keys = {"p256dh": device.p256dh, "auth": device.auth}
        answer = {"endpoint": device.address, "expirationTime": None, "keys": keys}
        screen.context.add_init_script(SUBSCRIBES % json.dumps(answer))
        page = screen.open("/subscriptions/")
        screen.press("Notify this device")
        expect(screen.one("#devices li")).to_contain_text(re.compile("Chrome on Linux"))
        expect(screen.one("#toasts")).to_contain_text("Notifications go to Chrome on Linux.")
        assert page.evaluate("JSON.parse(sessionStorage.getItem('asked'))") == [
            True,
            push.public_key(),  # browsers take the key as base64url too
        ]
        row = ask(workspace, agent_of("refunds"), "Pay by push")
        wait_until(lambda: bool(service.got), seconds=15)
        message = browser.opened(service.got[0].body)
        assert message["title"] == "Approval needed: Pay by push"
        assert message["url"].endswith(f"/approvals/{row.id}/")
        screen.press("Remove Chrome on Linux")
        expect(page.locator("#devices li")).to_have_count(0)
