"""A passkey in a browser: created on the page, used at the sign-in, removed again."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dashboard.identity.second_factor import codes, records
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.browser.screens import Screen

pytestmark = pytest.mark.browser
HOME = "/account/second-factor/"
KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def with_authenticator(screen: Screen) -> Screen:
    """The same window, in whose machine an authenticator is."""
    session = screen.context.new_cdp_session(screen.page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
    return screen


@pytest.mark.slow
def test_a_passkey_signs_in_where_the_code_would(house: House, people: People) -> None:
    user = house.cast.users["second_manager"]
    records.add(user, codes.new_secret(), 0, actor=f"user:{user.pk}")
    # An address is no name that a passkey can belong to.
    site = house.url.replace("127.0.0.1", "localhost")
    screen = people("second_manager", url=site)
    page = screen.open(HOME)
    with_authenticator(screen)
    page.get_by_label("Name of the new passkey").fill("Work laptop")
    page.locator("#passkey-password").fill("second_manager-password")
    screen.press("Add a passkey")
    expect(page.locator("#passkeys")).to_contain_text("Work laptop")
    expect(page.locator("#passkeys")).to_contain_text("never used")
    assert faults(screen, Axe()) == {}
    # The authenticator knows that it has one.
    page.get_by_label("Name of the new passkey").fill("Once more")
    page.locator("#passkey-password").fill("second_manager-password")
    screen.press("Add a passkey")
    expect(page.get_by_text("This device has a passkey here already.")).to_be_visible()

    screen.context.clear_cookies()
    screen.open("/login/?next=/approvals/")
    page.locator("#id_username").fill("second_manager")
    page.locator("#id_password").fill("second_manager-password")
    page.locator("form.form-card button").first.click()
    screen.press("Use a passkey")
    page.wait_for_url(f"{site}/approvals/")
    screen.open("/account/sign-ins/")
    expect(page.get_by_text("by password and passkey").first).to_be_visible()

    screen.open(HOME)
    expect(page.locator("#passkeys")).not_to_contain_text("never used")
    page.get_by_label("Your password, to remove one").fill("second_manager-password")
    screen.press("Remove Work laptop")
    expect(page.locator("#passkeys")).not_to_contain_text("Work laptop")
    records.remove(user, actor="user:0")
