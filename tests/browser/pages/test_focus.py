"""The focused row of a list keeps the focus when its thread changes and after Back."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen
from tests.faults.bench import Case

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def _focused(screen: Screen) -> str:
    return str(
        screen.page.evaluate("document.activeElement.closest('[data-row]')?.id ?? 'nothing'")
    )


@pytest.mark.rubric(6)
@pytest.mark.parametrize("others", [True, False], ids=["others stay", "the last of its list"])
def test_the_focus_stays_in_a_row_that_leaves_its_list(
    house: House, people: People, others: bool
) -> None:
    leaving = house.play("look a", hold=("in-a",))
    staying = house.play("look b", hold=("in-b",)) if others else None
    leaving.wait_status("running")  # on the only slot; the other one waits behind it
    screen = people("operator")
    screen.open("/?status=queued,running")
    screen.see_live()
    link = screen.one(f"#thread-{leaving.id} a.title")
    link.focus()
    leaving.go("in-a")
    leaving.wait_status("succeeded")
    row = screen.one(f"#thread-{leaving.id}")
    expect(row).to_have_attribute("data-gone", "")
    assert _focused(screen) == f"thread-{leaving.id}"
    # Once the focus is elsewhere, the next update removes the row.
    if staying:
        screen.one(f"#thread-{staying.id} a.title").focus()
        staying.go("in-b")
        staying.wait_status("succeeded")
        expect(row).to_have_count(0)
        assert _focused(screen) == f"thread-{staying.id}"


@pytest.mark.rubric(9)
@pytest.mark.parametrize(
    ("name", "path", "leave"),
    [
        ("operator", "/", "click"),
        ("operator", "/?q=weather", "Enter"),
        ("manager", "/approvals/?box=open", "click"),
        ("manager", "/approvals/?box=open", "q"),  # a key of the rows of the inbox
    ],
)
def test_back_gives_the_focus_to_the_row_that_was_left(
    house: House, people: People, at_gate: Case, name: str, path: str, leave: str
) -> None:
    row = f"thread-{at_gate.id}" if name == "operator" else f"approval-{at_gate.open().id}"
    screen = people(name)
    screen.open(path)
    screen.see_live()
    link = screen.one(f"#{row} a[href]").first
    if leave == "click":
        link.click()
    else:
        link.focus()
        screen.page.keyboard.press(leave)
    screen.page.wait_for_url(lambda url: urlsplit(url).path.count("/") == 3)
    screen.page.go_back()
    screen.see_live()
    assert _focused(screen) == row
    expect(screen.one(f"#{row}")).to_be_in_viewport()
    screen.page.keyboard.press("Enter")  # the same row opens again, without a way through the page
    screen.page.wait_for_url(lambda url: urlsplit(url).path.count("/") == 3)
