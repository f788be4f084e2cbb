"""The first thread of the board stands near the top, whatever else the workspace has to say."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Browser, Page, expect

from approvals.incidents.sweep import sweep_incidents
from dashboard.board.breaker_actions import RELEASE, TRIP, ReleaseBreaker, TripBreaker
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.rendered import rendered
from tests.support.cast import Cast, make_cast
from tests.unit.approvals.incidents.scenes import fails
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.browser
TOP, PHONE_HEIGHT, NAVIGATION = 250, 844, 60
STRIPS_MAX = 2  # above the threads on a wide window: heading and search, statuses


@pytest.mark.requirement("D01")
def test_at_most_two_strips_stand_above_the_first_row(house: House, people: People) -> None:
    case = house.play("look first", hold=("in-first",))
    case.wait_status("running")
    operator = house.cast.actor("operator")
    breaker = TRIP.run(operator, TripBreaker(agent="dozer", reason="Weather feed is wrong"))
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
        RELEASE.run(operator, ReleaseBreaker(reason="It is right again"), breaker.id)
        case.go("in-first")
        case.wait_status("succeeded")


# --- every combination of what can stand above or beside the threads ---

# What a workspace can have to say, by the elements that say it.
STRIPS = {
    "breaker": "#board-breakers > *",
    "incident": "#board-incidents > *",
    "damage": "#board-integrity > *",
    "no worker": "#no-worker > *",
    "stuck": "#board-stuck > *",
    "first minute": "#first-minute",
}
# Takes away what a combination does not have; the next one puts it back. Gives where the first
# thread begins, how far the page is wider than the window, and how many strips stand above it.
ARRANGE = """([wanted, held]) => {
  for (const [parent, node, next] of (window.taken || []).reverse())
    parent.insertBefore(node, next);
  window.taken = [];
  for (const [selector, on] of wanted)
    for (const node of on ? [] : [...document.querySelectorAll(selector)]) {
      window.taken.push([node.parentElement, node, node.nextSibling]);
      node.remove();
    }
  document.querySelector("[data-holds]").checked = held;
  const row = document.querySelector("#board-lanes tr[data-row]").getBoundingClientRect();
  const strips = document.querySelectorAll("#banners, .board > .notices, .board > section > *");
  const above = [...strips].map(one => one.getBoundingClientRect())
    .filter(box => box.height > 1 && box.bottom <= row.top && box.left < row.right);
  return [row.top, document.documentElement.scrollWidth - innerWidth, above.length];
}"""
FILTERS = ("", "?q=agent:research&status=failed,queued,attention", "?damaged=1&columns=agent,cost")


@pytest.fixture
def cast(db: None) -> Cast:
    """People and workspaces beside those of the house, which has the other names."""
    return make_cast("-rows")


@pytest.fixture
def troubled(cast: Cast) -> None:
    """A workspace with all troubles at once, whose operator is in the first minute of a demo."""
    for n in range(3):
        fails(cast, f"publish: HTTP 503 for order {n}, long enough to wrap on a phone")
    sweep_incidents()
    stuck = fails(cast, "The agent asks for a person.", "thread.attention")
    rows(
        "INSERT INTO gp_verification (thread_id, workspace_id, n_events, intact, broken_seq, what, "
        "checked_by, found_at) VALUES (%s, %s, 9, false, 3, 'event 3 does not match its hash', "
        "'command:verify', now())",
        (stuck, cast.workspace),
    )
    scene.start(cast.workspace, scene.make_agent("research"))
    rows("UPDATE gp_worker SET seen_at = seen_at - interval '1 hour'")
    operator = cast.actor("operator")
    reason = "The weather feed sends wrong figures since this morning"
    TRIP.run(operator, TripBreaker(agent="research", reason=reason))
    rows("UPDATE auth_user SET email = 'o@demo.invalid' WHERE id = %s", (operator.user_id,))


def board_in(browser: Browser, cast: Cast, query: str, *, phone: bool) -> Page:
    """The board of the operator as the product renders it, without scripts that change it."""
    html = cast.client("operator").get(f"/{query}").content.decode()
    return rendered(browser, html, f"/{query}", phone=phone)


@pytest.mark.requirement("D01")
@pytest.mark.usefixtures("troubled")
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_threads_begin_near_the_top_in_every_combination(
    browser: Browser, cast: Cast, phone: bool
) -> None:
    seen, wrong = 0, []
    for query in FILTERS:
        page = board_in(browser, cast, query, phone=phone)
        strips = {name: one for name, one in STRIPS.items() if page.locator(one).count()}
        assert set(STRIPS) - set(strips) <= ({"first minute"} if query else set())
        for chosen in product((True, False), repeat=len(strips)):
            for held in (True, False):
                wanted = list(zip(strips.values(), chosen, strict=True))
                top, sideways, above = page.evaluate(ARRANGE, [wanted, held])
                seen += 1
                most = PHONE_HEIGHT - NAVIGATION - 40 if phone else TOP
                if top > most or sideways > 0 or (not phone and above > STRIPS_MAX):
                    on = [name for name, is_on in zip(strips, chosen, strict=True) if is_on]
                    wrong.append((query, on, round(top), sideways, above))
        page.context.close()
    assert seen == 2 * (2**6 + 2 * 2**5)
    assert wrong == []
