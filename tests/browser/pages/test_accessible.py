"""axe finds nothing on any page, in both themes, wide and on a phone; nothing scrolls sideways."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction
from playwright.sync_api import expect

from approvals.verification import proof
from approvals.verification.reports import keep_report
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import PHONE, WIDE, Screen
from tests.faults.bench import Case
from tests.unit.checkpoints.builders import rows

from .test_entries import forms, pages

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


def wrong(screen: Screen, axe: Axe, options: Any, within: str = "html") -> list[str]:
    """Rules that the page breaks, or the part of it that a selector names, each with its targets.

    The bar at the foot of a phone covers a part of what scrolls behind it: a target that is too
    small is one that is so at two places.
    """
    first = targets(axe.run(screen.page, context=within, options=options).response)
    if SIZE in first:
        screen.page.evaluate("() => window.scrollBy(0, window.scrollY > 120 ? -120 : 120)")
        second = targets(axe.run(screen.page, context=within, options=options).response).get(
            SIZE, []
        )
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


@contextmanager
def damaged(case: Case) -> Iterator[None]:
    """A thread with an altered event, as a verification finds it; whole again afterwards."""
    where = "WHERE thread_id = %s AND seq = 1"
    [(actor,)] = rows(f"SELECT actor FROM gp_event {where}", (case.id,))
    try:
        altered(where, "somebody", case.id)
        yield
    finally:
        altered(where, actor, case.id)


def altered(where: str, actor: str, thread: UUID) -> None:
    with transaction.atomic():
        rows("SELECT set_config('session_replication_role', 'replica', true)")
        rows(f"UPDATE gp_event SET actor = %s {where} RETURNING 1", (actor, thread))
    keep_report(proof.verify(thread, files=False), actor="command")


@pytest.mark.rubric(22)
def test_axe_finds_nothing_where_a_record_is_damaged(house: House, people: People) -> None:
    case = house.play("look a")
    case.wait_status("succeeded")
    operator, auditor = people("operator"), people("auditor")
    with damaged(case):
        for screen, path, words in (
            (operator, "/", "damaged"),
            (operator, f"/threads/{case.id}/", "The record of this thread is damaged."),
            (auditor, f"/admin/search/?kind=all&thread={case.id}", "do not rely on events marked"),
        ):
            screen.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
            screen.open(path)
            expect(screen.one("main").first).to_contain_text(words)
            assert faults(screen, Axe()) == {}, path
