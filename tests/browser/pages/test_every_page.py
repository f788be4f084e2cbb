"""axe finds nothing on any page with any of its dialogs and menus open, wide and on a phone.

The pages are those that people reach by links from the board and the records. An address of the
product that none of them reaches must be listed here, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import Resolver404, get_resolver, resolve
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import People
from tests.browser.house import House, site
from tests.browser.screens import PHONE, WIDE, Screen
from tests.conftest import real_database
from tests.contract.world import World, make_world
from tests.faults.bench import Field
from tests.support.cast import make_cast
from tests.unit.dashboard.kit.pages.test_pages_covered import NONE

from .test_accessible import THEMES, wrong

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
HREF = re.compile(r'<a\b[^>]*?\bhref="([^"#]+)')
CONTROL = re.compile(r"<(?:button|input|select|textarea|dialog|details)\b")
READERS = ("operator", "manager", "admin", "auditor")
# Conditions of threads, requests and incidents, as the attributes of `World` name them.
CONDITIONS = {
    "operator": ("queued", "paused", "inbox", "changed", "ended", "asking", "undoing", "encrypted"),
    "manager": ("gate", "held"),
}
# Addresses that no link leads to, beside those that take a form only, by the reason.
NO_LINKS = {
    "takes a form": """
        incident_close incident_give_back incident_snooze incident_take incident_wake logout
        thread_input thread_pause thread_rename thread_resume thread_retry thread_reveal
        thread_settle thread_signal
    """,
    "a file, figures, or read by a script": """
        approvals_ended artifact favicon healthz metrics overview_csv published push_worker readyz
        thread_capsule violations
    """,
    "before the sign-in, judged in test_accessible and test_passkeys": "login login_code welcome",
    "a part of a thread's page, judged in test_parts": "artifact_preview thread_value",
    "several requests, judged in test_inbox": "approvals_decide",
}


@pytest.fixture(scope="module")
def house(
    browser: Browser, django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[House]:
    """A house of its own without a worker, so that nothing moves while a page is judged."""
    folder = tmp_path_factory.mktemp("every_page")
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_every_page"),
        site(slots="0") as started,
    ):
        cast = make_cast()
        yield House(cast, started, folder, folder, Field(folder, cast.workspace))


@pytest.fixture(scope="module")
def world(house: House) -> World:
    """Threads, requests, incidents and settings in all conditions."""
    return make_world(house.cast)


@pytest.fixture(scope="module")
def addresses(house: House, world: World) -> dict[str, dict[str, str]]:
    """{person: {name of a page: its address}}, each page by the reader with most controls on it."""
    best: dict[str, tuple[int, str, str]] = {}
    for person in READERS:
        first = [f"/threads/{world.failed}/", f"/approvals/{world.gate.id}/", "/", "/admin/"]
        for name, (controls, path) in linked(house, person, first).items():
            if name not in best or controls > best[name][0]:
                best[name] = (controls, person, path)
    return {
        reader: {name: path for name, (_, person, path) in best.items() if person == reader}
        for reader in READERS
    }


def linked(house: House, person: str, first: list[str]) -> dict[str, tuple[int, str]]:
    """{name of a page: (controls, address)} of the pages that a person reaches by links."""
    client = house.cast.client(person)
    pages: dict[str, tuple[int, str]] = {}
    waiting, known = list(first), set(first)
    while waiting:
        path = waiting.pop(0)
        try:
            name = resolve(urlsplit(path).path).view_name
        except Resolver404:
            continue
        if name in pages:
            continue
        answer = client.get(path)
        if answer.status_code != 200 or "text/html" not in answer.headers["Content-Type"]:
            continue
        html = answer.content.decode()
        pages[name] = len(CONTROL.findall(html)), path
        for href in HREF.findall(html):
            target = urljoin(path, unescape(href))
            if target.startswith("/") and target not in known:
                known.add(target)
                waiting.append(target)
    return pages


def states(screen: Screen, *, header: bool) -> Iterator[str]:
    """Open the folds of the page, then each of its menus and dialogs; a selector of what is open.

    `header`: also those at the top, which are the same on all pages.
    """
    page = screen.page
    page.evaluate(
        "document.querySelectorAll('main details:not(.menu, .drop)')"
        ".forEach(one => { one.open = true; })"
    )
    yield "html"
    for menu in page.locator("details.menu, details.drop").all():
        summary = menu.locator("summary").first
        if summary.is_visible() and (header or not inside(menu, "header")):
            summary.click()
            expect(menu).to_have_attribute("open", "")
            yield "details:is(.menu, .drop)[open]"
            menu.evaluate("one => { one.open = false; }")
    openers = page.locator("[data-open]")
    for name in dict.fromkeys(openers.evaluate_all("all => all.map(one => one.dataset.open)")):
        if name == "keys" and not header:
            continue
        page.locator(f"[data-open={name}]").first.evaluate("one => one.click()")
        yield from shown(page.locator(f"#{name}"))
    if asks := page.locator("[data-confirm]").filter(visible=True).all():
        asks[0].click()
        yield from shown(page.locator("#confirm"))


def shown(dialog: Locator) -> Iterator[str]:
    """A dialog while it is open."""
    expect(dialog).to_have_attribute("open", "")
    yield f"#{dialog.get_attribute('id')}"
    dialog.page.keyboard.press("Escape")
    expect(dialog).not_to_have_attribute("open", "")


def inside(element: Locator, selector: str) -> bool:
    """Whether an element stands in one of these."""
    return bool(element.evaluate("(one, selector) => !!one.closest(selector)", selector))


def faults(screen: Screen, axe: Axe, path: str) -> dict[str, list[str]]:
    """{"width state theme": what is wrong} of the page at an address."""
    results: dict[str, list[str]] = {}
    for width, height in (WIDE, PHONE):
        screen.page.set_viewport_size({"width": width, "height": height})
        screen.open(path)
        screen.see_ready()
        for state in states(screen, header=path == "/"):
            for theme, options in THEMES.items():
                screen.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                if messages := wrong(screen, axe, options, state):
                    results[f"{width} {state} {theme}"] = messages
    return results


def judge(screen: Screen, paths: dict[str, str]) -> None:
    """All of these pages have no fault."""
    axe = Axe()
    results = {name: faults(screen, axe, path) for name, path in paths.items()}
    wrong_ones = {name: result for name, result in results.items() if result}
    assert wrong_ones == {}, json.dumps(wrong_ones, indent=1)


def test_every_page_is_reached_by_links(addresses: dict[str, dict[str, str]]) -> None:
    known = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    reached = {name for pages in addresses.values() for name in pages}
    listed = {name for names in NO_LINKS.values() for name in names.split()}
    listed |= {name for name in known if NONE.get(name) == "posts only"}
    assert known - reached == listed
    assert len(reached) >= 100  # with the records, whose names have a prefix


@pytest.mark.rubric(22)
@pytest.mark.parametrize("person", READERS[:3])
def test_axe_finds_nothing_on_every_page_with_its_dialogs_and_menus_open(
    people: People, addresses: dict[str, dict[str, str]], person: str
) -> None:
    assert addresses[person]
    judge(people(person), addresses[person])


@pytest.mark.rubric(22)
@pytest.mark.parametrize("person", CONDITIONS)
def test_axe_finds_nothing_in_every_condition(people: People, world: World, person: str) -> None:
    paths = {}
    for name in CONDITIONS[person]:
        one = getattr(world, name)
        kind = "approvals" if person == "manager" else "threads"
        paths[name] = f"/{kind}/{one[0] if isinstance(one, tuple) else getattr(one, 'id', one)}/"
    judge(people(person), paths)
