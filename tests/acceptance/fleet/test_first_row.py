"""The first thread of the board stands near the top, whatever else the workspace has to say."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dashboard import actions
from dashboard.actions.fleet.breakers import Selection
from tests.acceptance.conftest import People
from tests.acceptance.house import House

pytestmark = pytest.mark.browser
TOP, PHONE_HEIGHT, NAVIGATION = 250, 844, 60


@pytest.mark.requirement("D01")
def test_at_most_two_strips_stand_above_the_first_row(house: House, people: People) -> None:
    case = house.play("look first", hold=("in-first",))
    case.wait_status("running")
    operator = house.cast.actor("operator")
    breaker = actions.trip_breaker(operator, Selection(agent="dozer"), "Weather feed is wrong")
    try:
        for phone in (False, True):
            screen = people("operator", phone=phone)
            page = screen.open("/?q=agent:script" if phone else "/")
            expect(screen.one("#board-breakers")).to_contain_text("Weather feed is wrong")
            row = page.locator("#board-lanes tr[data-row]").first
            expect(row).to_be_visible()
            box = row.bounding_box()
            assert box is not None
            assert box["y"] <= (PHONE_HEIGHT - NAVIGATION - 40 if phone else TOP)
            assert screen.sideways() == 0
            assert screen.cut_off() == []
    finally:
        actions.release_breaker(operator, breaker.id, "It is right again")
        case.go("in-first")
        case.wait_status("succeeded")
