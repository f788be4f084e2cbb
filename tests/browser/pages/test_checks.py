"""Checks of the pages that no other test performs: counters, addresses, keys, motion, themes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from dashboard.board.board import LIST_ROWS
from tests.browser.conftest import People
from tests.browser.house import House
from tests.faults.bench import Case

pytestmark = [pytest.mark.browser, pytest.mark.slow]
JS = Path(__file__).parents[3] / "dashboard/static/dashboard/js"
JS_MAX = 60_000


@pytest.mark.rubric(1)
def test_a_counter_filters_and_equals_its_list(house: House, people: People, at_gate: Case) -> None:
    screen = people("operator")
    screen.open("/")
    for status in ("waiting", "succeeded", "failed"):
        counter = screen.one(f"#count-{status} a")
        counted = int(counter.locator("[data-count]").inner_text().replace(",", ""))
        counter.click()
        expect(screen.page).to_have_url(re.compile(rf"\?status={status}$"))
        expect(screen.one("#board-lanes tr[data-row]")).to_have_count(min(counted, LIST_ROWS))
        screen.open("/")


@pytest.mark.rubric(2)
def test_an_address_shows_the_same_to_everybody(
    house: House, people: People, at_gate: Case
) -> None:
    one, other = people("operator"), people("auditor")
    one.open("/")
    one.one("#q").fill("airports")
    expect(one.page).to_have_url(re.compile(r"q=airports"))
    titles = one.one("#board-lanes a.title")
    shown = titles.all_inner_texts()
    at = urlsplit(one.page.url)
    other.open(f"{at.path}?{at.query}")
    assert other.one("#board-lanes a.title").all_inner_texts() == shown
    one.page.reload()
    assert titles.all_inner_texts() == shown
    expect(one.one("#q")).to_have_value("airports")


@pytest.mark.rubric(9)
def test_the_board_works_by_keys_and_lists_them(
    house: House, people: People, at_gate: Case
) -> None:
    screen = people("operator")
    screen.open("/?status=waiting")
    screen.page.keyboard.press("j")
    row = screen.page.evaluate("document.activeElement.closest('[data-row]')?.id ?? ''")
    assert row.startswith("thread-")
    screen.page.keyboard.press("?")
    expect(screen.one("#keys")).to_be_visible()
    screen.page.keyboard.press("Escape")
    expect(screen.one("#keys")).to_be_hidden()
    assert screen.page.evaluate("document.activeElement.closest('[data-row]')?.id ?? ''") == row
    screen.page.keyboard.press("Enter")
    expect(screen.page).to_have_url(re.compile(rf"/threads/{row.removeprefix('thread-')}/"))
    # Many at once by keys: to the dialog of this board, and back to it.
    screen.open("/?status=waiting")
    screen.page.keyboard.press("a")
    expect(screen.page).to_have_url(re.compile(r"/threads/many/\?status=waiting$"))
    screen.page.get_by_role("link", name="Back").click()
    expect(screen.page).to_have_url(re.compile(r"/\?status=waiting$"))


@pytest.mark.rubric(23)
def test_little_is_said_and_nothing_moves_for_those_who_want_that(
    house: House, people: People
) -> None:
    screen = people("operator")
    screen.page.emulate_media(reduced_motion="reduce")
    screen.open("/")
    live = screen.one("[aria-live], [role=status], [role=alert]")
    assert live.count() <= 4
    assert screen.one("#board-lanes [aria-live]").count() == 0, "never per row"
    moving = screen.page.evaluate(
        "[...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);"
        "return parseFloat(s.animationDuration) > 0.01 && s.animationName !== 'none' ||"
        "parseFloat(s.transitionDuration) > 0.01 }).map(e => e.className || e.tagName)"
    )
    assert moving == []


@pytest.mark.rubric(24)
def test_the_theme_follows_the_system_and_the_person(house: House, people: People) -> None:
    screen = people("operator")
    colour = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        screen.page.emulate_media(color_scheme=scheme)
        screen.open("/")
        seen[scheme] = screen.page.evaluate(colour)
    assert seen["light"] != seen["dark"]
    screen.one("[data-theme-toggle]").locator("visible=true").first.click()
    chosen = screen.page.evaluate(colour)
    assert chosen == seen["light"]
    screen.page.reload()
    assert screen.page.evaluate(colour) == chosen, "kept, and there from the first paint"


@pytest.mark.rubric(25)
def test_a_request_is_read_whole_on_a_phone(house: House, people: People, at_gate: Case) -> None:
    screen = people("manager", phone=True)
    screen.open("/approvals/")
    screen.one("#main a[href*='/approvals/0']").locator("visible=true").first.click()
    expect(screen.page).to_have_url(re.compile(r"/approvals/[0-9a-f-]{36}/"))
    assert screen.sideways() <= 0
    for word in ("Approve", "Reject"):
        expect(
            screen.page.get_by_role("button", name=re.compile(word))
            .or_(screen.page.get_by_role("link", name=re.compile(word)))
            .filter(visible=True)
            .first
        ).to_be_in_viewport()


@pytest.mark.rubric(30)
def test_own_scripts_are_small_and_nothing_foreign_is_loaded(
    house: House, people: People, at_gate: Case
) -> None:
    assert sum(path.stat().st_size for path in JS.glob("*.js")) < JS_MAX
    screen = people("manager")
    hosts: set[str] = set()
    screen.page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    for path in ("/", "/approvals/", f"/threads/{at_gate.id}/"):
        response = screen.page.goto(screen.base + path)
        assert response is not None
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
    assert hosts == {urlsplit(screen.base).netloc}
