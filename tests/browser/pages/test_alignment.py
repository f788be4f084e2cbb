"""Where things stand on a page: columns that begin together, controls of one height, bars."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.screens import Screen
from tests.faults.bench import Case

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def places(screen: Screen, selector: str) -> list[dict[str, float]]:
    """Where all that can be seen of these stand."""
    result: list[dict[str, float]] = screen.one(selector).evaluate_all(
        "all => all.filter(el => el.checkVisibility()).map(el => el.getBoundingClientRect())"
        ".map(({left, right, top, bottom, height}) => ({left, right, top, bottom, height}))"
    )
    return result


def test_the_columns_of_a_thread_begin_together(people: People, at_gate: Case) -> None:
    """What is hidden in a column takes no room."""
    screen = people("operator")
    screen.open(f"/threads/{at_gate.id}/")
    screen.see_live()
    expect(screen.one("#thread-input")).to_be_hidden()
    tops = [places(screen, f".cols > .{name} > .card")[0]["top"] for name in ("c1", "c2", "c3")]
    assert len({round(top) for top in tops}) == 1, tops
    facts = places(screen, "#thread-facts > div")
    assert facts[0]["left"] < facts[-1]["right"] <= 1440
    # The button in the row is as high as the row: nothing is pushed down by it.
    [button] = places(screen, "#thread-facts .btn")
    assert button["height"] <= 24


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_controls_are_of_one_height_and_their_hints_close_by(people: People, phone: bool) -> None:
    screen = people("operator", phone=phone)
    screen.open("/threads/new/?agent=market-research")
    screen.see_live()
    low = places(screen, ".fields :is(input, select)")
    assert len(low) >= 4
    assert len({round(one["height"]) for one in low}) == 1, low
    gaps = screen.one(".fields .field").evaluate_all(
        "all => all.map(el => [el.querySelector('input, select, textarea'),"
        " el.querySelector('.hint')]).filter(([, hint]) => hint?.checkVisibility())"
        ".map(([box, hint]) => hint.getBoundingClientRect().top"
        " - box.getBoundingClientRect().bottom)"
    )
    assert {round(gap) for gap in gaps} == {4}, gaps


def test_the_head_of_a_dialog_is_one_line_with_its_button(people: People, at_gate: Case) -> None:
    screen = people("manager", phone=True)
    screen.open(f"/approvals/{at_gate.open().id}/")
    screen.see_live()
    screen.one(".mbar").get_by_role("button", name="Reject").click()
    expect(screen.one("dialog[open] .dlg-head")).to_be_visible()
    [title] = places(screen, "dialog[open] .dlg-head h2")
    [close] = places(screen, "dialog[open] .dlg-head .btn")
    line = screen.one("dialog[open] .dlg-head h2").evaluate(
        "el => { const all = document.createRange(); all.selectNodeContents(el);"
        " const box = all.getBoundingClientRect(); return (box.top + box.bottom) / 2; }"
    )
    assert title["top"] <= close["bottom"]
    assert abs(line - (close["top"] + close["bottom"]) / 2) <= 1.5


def test_ticked_requests_have_their_bar_above_the_phones_edge(
    people: People, at_gate: Case
) -> None:
    screen = people("manager", phone=True)
    screen.open("/approvals/?box=open")
    screen.see_live()
    screen.one(f'[data-tick][value^="{at_gate.open().id}"], [data-ticks-all]').first.check()
    [bar] = places(screen, "#bulkbar")
    [tabs] = places(screen, ".top nav")
    assert 0 <= tabs["top"] - bar["bottom"] <= 24
    assert screen.sideways() == 0


def test_a_phone_shows_the_titles_of_threads_whole(people: People, at_gate: Case) -> None:
    screen = people("manager", phone=True)
    screen.open("/?q=Weather at the airports")
    screen.see_live()
    title = screen.one(f"#thread-{at_gate.id} .title")
    title.evaluate("el => { el.textContent = 'How cold does it get at the airports of New York?' }")
    assert title.evaluate("el => el.scrollWidth <= el.clientWidth")
    assert title.evaluate("el => el.scrollHeight <= el.clientHeight + 1")
