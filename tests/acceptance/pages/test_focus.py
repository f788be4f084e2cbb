"""The focused row of the board stays under the keys, whatever becomes of its thread."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.acceptance.conftest import People
from tests.acceptance.house import House
from tests.acceptance.screens import Screen

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
    # The keys go on from there; what was left behind goes with the next look.
    if staying:
        screen.one(f"#thread-{staying.id} a.title").focus()
        staying.go("in-b")
        staying.wait_status("succeeded")
        expect(row).to_have_count(0)
        assert _focused(screen) == f"thread-{staying.id}"
