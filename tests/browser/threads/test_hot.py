"""A hot agent in the browser: watched while it plays, decided on a phone, forked, rolled back."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from checkpoints import queries
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen
from tests.faults.bench import Case

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.browser,
    pytest.mark.requirement("A31"),
    pytest.mark.requirement("F09"),
]
GAMES, AT = 40, 7
APPROVE = ".mbar button[data-decide=approve]"


def watched(screen: Screen, case: Case) -> tuple[list[int], list[str]]:
    """The checkpoints that the page showed by itself until it showed the gate, and the drain."""
    numbers: list[int] = []
    drains: list[str] = []
    until = time.monotonic() + 120
    while screen.one("#thread-head").get_attribute("data-status") != "waiting":
        assert time.monotonic() < until, case.summary()
        text = screen.one("#thread-state h2 + span").inner_text()
        shown = int(re.sub(r"\D", "", text.partition("against")[0]) or 0)
        if not numbers or shown != numbers[-1]:
            numbers.append(shown)
        facts = screen.one("#thread-facts").inner_text()
        if match := re.search(r"([\d,]+) steps? not in the database yet", facts):
            drains.append(match[1])
        screen.page.wait_for_timeout(50)
    return numbers, drains


def state_at(case: Case, number: int) -> dict[str, Any]:
    """The state at the checkpoint of this number."""
    return queries.state_at(case.id, queries.checkpoint_by_number(case.id, number).id)


def tables(house: House) -> list[str]:
    """The published tables of games."""
    return [name for name in house.files() if name.endswith("/games.csv")]


def test_a_hot_agent_is_watched_decided_forked_and_rolled_back(
    house: House, people: People
) -> None:
    operator = people("operator")
    page = operator.open("/threads/new/?agent=connect-four")
    expect(page.locator("#start")).to_contain_text("Durability hot: steps reach the database")
    page.locator("#f-games").fill(str(GAMES))
    page.locator("#f-looks_ahead").fill("5")
    operator.press("Start")
    operator.see_live()
    case = house.case(page.url.rstrip("/").rpartition("/")[2])
    operator.forget()

    numbers, drains = watched(operator, case)
    assert operator.documents == [], "it moved by itself"
    assert len(numbers) >= 4
    assert numbers == sorted(numbers)
    assert drains, "steps that wait were never shown"
    expect(operator.one("#thread-facts")).to_contain_text("All steps are in the database.")
    steps = case.row().step
    assert steps > 20 * GAMES
    expect(operator.one("#thread-events")).to_contain_text(f"Game {GAMES}")

    # The gate, on a phone of 390 px.
    request = case.open()
    assert tables(house) == []
    phone = people("manager", phone=True)
    phone.open(f"/approvals/{request.id}/")
    phone.see_ready()
    assert phone.sideways() == 0
    assert phone.cut_off() == []
    expect(phone.one("h1")).to_contain_text(f"Connect four: {GAMES} games")
    phone.one(APPROVE).tap()
    expect(phone.one("#outcome")).to_be_visible()
    operator.see_status("succeeded", timeout=60_000)
    assert len(tables(house)) == 1

    # Another move, from the seventh step of a thread of a thousand.
    moves = state_at(case, AT)["moves"]
    other = next(c for c in "1234567" if c != moves[-1])
    operator.open(f"/threads/{case.id}/?cp={AT}")
    operator.press("Fork from here")
    expect(operator.one("h1")).to_contain_text(f"Fork from checkpoint #{AT}")
    page.locator("#f-moves").fill(moves[:-1] + other)
    page.locator("#f-games").fill("2")
    operator.press("Preview")
    expect(operator.one("#preview .paths")).to_contain_text("/moves")
    operator.press("Create fork and run")
    page.wait_for_url(re.compile(rf"/threads/(?!{case.id})[0-9a-f-]{{36}}/$"))
    fork = house.case(page.url.rstrip("/").rpartition("/")[2])
    operator.see_status("waiting", timeout=60_000)
    first, second = fork.state()["results"]
    assert first["moves"].startswith(moves[:-1] + other)
    assert first["moves"] != case.state()["results"][0]["moves"]
    assert second["game"] == 2

    # Back to the same step: what was published goes, and the series can be played again.
    manager = people("manager")
    page = manager.open(f"/threads/{case.id}/?cp={AT}")
    manager.press("Roll back to here")
    expect(manager.one("tr[data-fate]")).to_have_attribute("data-fate", "undoable")
    page.get_by_label("Reason (kept in the log)").fill("A weak opening.")
    manager.press(f"Roll back to #{AT}")
    manager.see_status("paused")
    assert tables(house) == []
    assert case.state()["moves"] == moves
    operator.open(f"/threads/{case.id}/")
    operator.press("Resume")
    operator.see_status("waiting", timeout=120_000)
    assert case.state()["results"][0]["moves"].startswith(moves)
