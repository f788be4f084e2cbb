"""Sign-in in a real Chromium: the link from the console opens the board, and the policy holds."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dashboard.operate.demo import demo
from tests.support.site import Site

pytestmark = pytest.mark.browser


def test_the_link_of_the_console_opens_the_board(site: Site, page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    demo.create_logins(Path(os.environ["GATEPOST_DATA"]) / "logins")
    page.goto(site.url + demo.login_path("operator"))
    page.get_by_role("button", name="Sign in").click()
    assert page.url == f"{site.url}/"
    expect(page).to_have_title(re.compile("Gatepost"))
    page.get_by_text("Live", exact=True).first.wait_for(timeout=10_000)
    page.goto(f"{site.url}/api/docs/")
    page.wait_for_load_state("networkidle")
    assert complaints == []
