"""A compiled graph in a browser: tokens, the gate, a fork and a rollback."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from tests.browser.screens import Screen
from tests.contract.clients.bench import Server
from tests.faults.bench import Case
from tests.support.cast import Cast

pytestmark = pytest.mark.browser
ANSWER = "You have your money back, and I am sorry about the kettle."
SHOWN = "#thread-progress > [data-stream] [data-stream-text]"
TEXT_NOW = f"() => document.querySelector('{SHOWN}')?.textContent ?? null"


def show_checkpoint(screen: Screen, number: int) -> None:
    """Open a checkpoint from the list, which has the newest first."""
    rows = screen.one("#thread-lineage li[data-row]")
    rows.nth(rows.count() - 1 - number).locator("a").click()
    expect(screen.one("#thread-state")).to_contain_text(f"#{number}")


def test_people_watch_tokens_fork_and_roll_back(
    server: Server, cast: Cast, start: Callable[..., Case], page: Page, tmp_path: Path
) -> None:
    key = cast.client("manager").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": key, "url": server.url}])
    screen = Screen(page.context, server.url)
    base = start("slow-shop", messages=[{"role": "user", "content": "It is broken."}])
    base.wait_status("waiting")

    # The last answer of the model grows on the page; no effect ran before the approval.
    screen.open(f"/threads/{base.id}/")
    expect(screen.one("#thread-lineage li[data-row]")).to_have_count(5)
    screen.see_live()
    assert base.calls("refund") == []
    base.decide("approve")
    screen.one(SHOWN).wait_for(timeout=20_000)
    texts = set()
    while (text := screen.page.evaluate(TEXT_NOW)) is not None:
        texts.add(text)
        screen.page.wait_for_timeout(40)
    assert len(texts) > 2, texts
    assert all(ANSWER.startswith(text.strip()) for text in texts), texts
    screen.see_status("succeeded")
    expect(screen.one("#thread-lineage li[data-row]")).to_have_count(7)

    # A fork from before the refund, with another folder: it asks people again.
    (tmp_path / "fork").mkdir()
    show_checkpoint(screen, 4)
    screen.press("Fork from here")
    screen.page.get_by_role("textbox", name="Folder").fill(str(tmp_path / "fork"))
    screen.press("Preview")
    screen.press("Create fork and run")
    screen.page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    screen.see_status("waiting")
    fork = Case(
        UUID(screen.page.url.rstrip("/").rpartition("/")[2]), tmp_path / "fork", base.workspace
    )
    assert fork.id != base.id
    screen.open(f"/approvals/{fork.open().id}/")
    screen.press("Approve")
    screen.one("#approve-dialog button.primary").click()
    fork.wait_status("succeeded")
    assert [len(case.calls("refund")) for case in (base, fork)] == [1, 1]

    # A rollback undoes the refund; resumed, the graph asks people again.
    screen.open(f"/threads/{base.id}/")
    show_checkpoint(screen, 1)
    screen.press("Roll back to here")
    expect(screen.one("tr[data-fate]")).to_have_attribute("data-fate", "undoable")
    screen.page.get_by_label("Reason (kept in the log)").fill("Another order.")
    screen.press("Roll back to #1")
    screen.see_status("paused")
    assert [effect.state for effect in base.effects()] == ["compensated"]
    assert base.row().next_nodes == ("agent",)
    server.operator.post(f"/threads/{base.id}/resume/", {})
    screen.see_status("waiting")
    assert server.verify(str(base.id))["intact"] is True
    assert screen.unforeseen() == []
