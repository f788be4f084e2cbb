"""axe finds nothing on any page, in both themes, wide and on a phone; nothing scrolls sideways."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.acceptance.conftest import People
from tests.acceptance.house import House
from tests.acceptance.screens import PHONE, WIDE, Screen
from tests.hazards.bench import Case

from .test_doors import forms, pages

pytestmark = pytest.mark.browser
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# The other theme has the same elements in other colours.
COLOURS = ["color-contrast", "link-in-text-block"]
THEMES: dict[Literal["light", "dark"], dict[str, Any]] = {
    "light": {"runOnly": RULES, "resultTypes": ["violations"]},
    "dark": {"runOnly": COLOURS, "resultTypes": ["violations"]},
}
SIZE = "target-size"
NARROWEST = 320
OTHERS = {
    "login": "/login/",
    "board narrowed": "/?q=age:<1d&columns=agent,node,cost,tokens,labels",
    "board with a mistake": "/?q=state.colour:red",
    "board without a match": "/?q=nothing-has-this-word",
    "overview": "/overview/",
    "keyboard": "/keyboard/",
    "sign-ins": "/account/sign-ins/",
}


def wrong(screen: Screen, axe: Axe, options: Any) -> list[str]:
    """Rules that the page breaks, each with its first targets.

    The bar at the foot of a phone covers a part of what scrolls behind it: a target that is too
    small is one that is so at two places.
    """
    first = targets(axe.run(screen.page, options=options).response)
    if SIZE in first:
        screen.page.evaluate("() => window.scrollBy(0, window.scrollY > 120 ? -120 : 120)")
        second = targets(axe.run(screen.page, options=options).response).get(SIZE, [])
        first[SIZE] = [one for one in first[SIZE] if one in second]
    return [f"{rule}: {nodes[:3]}" for rule, nodes in first.items() if nodes]


def targets(response: dict[str, Any]) -> dict[str, list[Any]]:
    """{broken rule: the elements that break it}."""
    assert response["passes"]  # it has looked
    return {one["id"]: [n["target"] for n in one["nodes"]] for one in response["violations"]}


def faults(screen: Screen, axe: Axe) -> dict[str, list[str]]:
    """{"theme width": what is wrong} of the page that is open."""
    results: dict[str, list[str]] = {}
    for width, height in (WIDE, PHONE):
        screen.page.set_viewport_size({"width": width, "height": height})
        for theme, options in THEMES.items():
            screen.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            messages = wrong(screen, axe, options)
            if messages:
                results[f"{theme} {width}"] = messages
    for width in (PHONE[0], NARROWEST):
        screen.page.set_viewport_size({"width": width, "height": PHONE[1]})
        messages = screen.cut_off()
        if too_wide := screen.sideways():
            messages.append(f"{too_wide} px wider than the window")
        if messages:
            results[f"fits {width}"] = messages
    return results


@pytest.mark.rubric(22)
@pytest.mark.parametrize(
    "name",
    [
        *("login", "board", "thread", "anatomy", "inbox", "approval", "start", "fork", "rollback"),
        *("edit", "cancel", "board narrowed", "board with a mistake", "board without a match"),
        *("overview", "sign-ins"),
    ],
)
def test_axe_finds_nothing(house: House, people: People, at_gate: Case, name: str) -> None:
    who = {"login": "", "approval": "manager"}.get(name, "operator")
    screen = people(who)
    screen.open((OTHERS | pages(at_gate) | forms(at_gate))[name])
    if name != "login":
        screen.see_live()
    assert faults(screen, Axe()) == {}
