"""A chat that keeps nothing, in the browser: its answers come, and nothing says that it is kept."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from checkpoints.durabilities import NOT_KEPT
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.browser,
    pytest.mark.requirement("A14"),
    pytest.mark.requirement("E07"),
]


def test_a_chat_that_keeps_nothing(house: House, people: People) -> None:
    operator = people("operator")
    page = operator.open("/threads/new/?agent=docs-chat")
    expect(page.locator("#start")).to_contain_text("Durability ephemeral: nothing is kept")
    page.locator("#f-question").fill("How does psycopg open a pool of connections?")
    operator.press("Start")
    operator.see_status("succeeded")
    talk = page.locator("#thread-conversation li")
    expect(talk).to_have_count(2)
    expect(talk.nth(1)).to_contain_text("There is no model to ask")
    expect(talk.nth(1)).to_contain_text("psycopg")
    page.locator("#f-message").fill("How does celery retry a task?")
    operator.press("Send input")
    expect(talk).to_have_count(4)
    expect(talk.nth(3)).to_contain_text("celery")
    operator.see_status("succeeded")
    for region in ("lineage", "state", "activities", "artifacts", "facts"):
        expect(page.locator(f"#thread-{region}")).to_contain_text(NOT_KEPT)
    for verb in ("fork", "rollback", "edit"):
        expect(page.locator(f"[data-action={verb}]")).to_have_count(0)
    expect(page.locator("#thread-damage")).not_to_contain_text("missing")
    admin = people("admin")
    policies = admin.open("/admin/policies/")
    expect(policies.locator("#ephemeral")).to_contain_text("Documentation chat keeps nothing")
