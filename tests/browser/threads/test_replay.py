"""A thread is replayed in the browser: played, stepped forward and back, at a chosen speed."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import APIResponse, Error, Page, Route, expect

from checkpoints import queries
from tests.browser.conftest import People
from tests.browser.house import House
from tests.faults.bench import Case

pytestmark = pytest.mark.browser


@pytest.fixture
def ordered(house: House, tmp_path: Path) -> Case:
    """A thread with its input and three rounds that waits at a gate."""
    case = house.start("orders", "Tea, replayed", goal="tea", folder=str(tmp_path))
    case.wait_status("waiting")
    return case


def shown(page: Page) -> str:
    """The checkpoint that the address names; empty at the newest."""
    return parse_qs(urlsplit(page.url).query).get("cp", [""])[0]


def look(page: Page) -> dict[str, str]:
    """What the parts of the page say of where they stand."""
    parts = ("state", "graph", "plan", "events", "activities")
    return {name: page.locator(f"#thread-{name}").text_content() or "" for name in parts}


# Puts on record, for each load of the page, what it shows: checkpoint, pressed, speed.
RECORD = """() => {
  window.shown = [];
  document.addEventListener("htmx:afterSettle", ({target}) => {
    if (target.id !== "main") return;
    const one = id => document.getElementById(id);
    const at = one("past")?.dataset.past ?? "";
    window.shown.push([at, one("replay-play").ariaPressed, one("replay-speed").value]);
  });
}"""


@pytest.mark.rubric(13)
@pytest.mark.requirement("A23")
def test_a_thread_is_played_and_stepped_through(ordered: Case, people: People) -> None:
    numbers = [str(row.id) for row in queries.lineage(ordered.id)][::-1]
    operator = people("operator")
    page = operator.open(f"/threads/{ordered.id}/")
    at_head = look(page)
    play, speed = page.locator("#replay-play"), page.locator("#replay-speed")
    expect(play).to_have_attribute("aria-label", "Play")

    # It begins at the first checkpoint, goes on by itself and ends at the newest.
    visited: list[str] = []
    page.on("framenavigated", lambda frame: visited.append(shown(page)))
    page.evaluate(RECORD)
    speed.select_option("4")
    play.click()
    page.wait_for_function("total => window.shown.length >= total", arg=len(numbers))
    expect(play).to_have_attribute("aria-pressed", "false")
    expect(play).to_have_attribute("aria-label", "Play")
    expect(page.locator("#past")).to_have_count(0)
    assert page.evaluate("window.shown") == [[at, "true", "4"] for at in (*numbers[:-1], "")]
    assert [v for v in dict.fromkeys(visited) if v not in ("", "0")] == numbers[1:-1]
    assert urlsplit(page.url).path == f"/threads/{ordered.id}/"
    assert operator.documents == [f"GET /threads/{ordered.id}/"], "no page was loaded anew"

    # One step back and one forward; each part of the page moves with the address.
    page.keyboard.press("[")
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-2])
    one = look(page)
    page.locator("#replay-back").click()
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-3])
    two = look(page)
    for name, text in two.items():
        assert text != one[name], name
        assert text != at_head[name], name
    assert shown(page) == numbers[-3]
    page.locator("#replay-next").click()
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-2])
    assert look(page) == one
    page.go_back()
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-3])


@pytest.mark.requirement("A23")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "late"])
def test_a_step_by_hand_stops_what_plays_also_while_a_step_loads(
    ordered: Case, people: People, order: tuple[int, int]
) -> None:
    numbers = [str(row.id) for row in queries.lineage(ordered.id)][::-1]
    operator = people("operator")
    operator.allow("htmx:(afterRequest|sendAbort)")  # of the load that was left
    page = operator.open(f"/threads/{ordered.id}/?cp={numbers[1]}")
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[1])
    held: list[Route] = []
    page.route(re.compile(r"/threads/.*\?cp="), lambda route: held.append(route))
    steps = (partial(page.keyboard.press, "."), page.locator("#replay-back").click)
    for n, step in enumerate(steps):
        step()
        while len(held) == n:
            page.wait_for_timeout(50)
    for n in order:
        with suppress(Error):  # the page has given up the first one
            held[n].continue_()
        page.wait_for_timeout(500)
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[0])
    expect(page.locator("#replay-play")).to_have_attribute("aria-pressed", "false")
    assert shown(page) == numbers[0]


@pytest.mark.requirement("A23")
def test_without_scripts_links_walk_through_the_past(ordered: Case, people: People) -> None:
    numbers = [str(row.id) for row in queries.lineage(ordered.id)][::-1]
    page = people("viewer", java_script_enabled=False).open(f"/threads/{ordered.id}/")
    expect(page.locator("#replay-play")).to_be_hidden()
    page.locator("#replay-first").click()
    for ident in numbers[1:-1]:
        page.locator("#replay-next").click()
        expect(page.locator("#past")).to_have_attribute("data-past", ident)
    page.locator("#replay-next").click()
    expect(page.locator("#past")).to_have_count(0)
    page.locator("#replay-back").click()
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-2])


@pytest.mark.requirement("A23")
def test_a_late_answer_is_not_painted_over_another_checkpoint(
    ordered: Case, people: People
) -> None:
    numbers = [str(row.id) for row in queries.lineage(ordered.id)][::-1]
    page = people("operator").open(f"/threads/{ordered.id}/?cp={numbers[-2]}")
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-2])
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if "x-gatepost-regions" in route.request.headers:
            late.append((route, route.fetch()))
        else:
            route.continue_()

    page.route("**/threads/**", hold)
    page.evaluate("() => { gatepost.ask(); }")
    while not late:
        page.wait_for_timeout(50)
    page.locator("#replay-back").click()
    expect(page.locator("#past")).to_have_attribute("data-past", numbers[-3])
    before = look(page)
    for route, answer in late:
        route.fulfill(response=answer)
    page.wait_for_timeout(500)
    assert look(page) == before
    page.unroute("**/threads/**")
