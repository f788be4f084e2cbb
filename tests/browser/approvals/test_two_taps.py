"""Two quick taps, or a key pressed twice, decide nothing that nobody has read."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from tests.browser import payments
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser

UNDO = "bank.transfer.recall"
APPROVE = "button[data-decide=approve]"


def now(row: ApprovalRow) -> ApprovalRow:
    """The request as it stands."""
    return queries.approval(row.id, workspace=row.workspace)


def pair(house: House, **more: Any) -> tuple[ApprovalRow, ApprovalRow]:
    """Two requests of medium risk, one after the other in every list."""
    terms = Terms(undo_window=60)
    first, second = (
        payments.pay(house, title=f"Two taps: {n}", terms=terms, risk="medium", **more)
        for n in ("first", "second")
    )
    return first, second


def middle(button: Locator) -> tuple[float, float]:
    """Where a thumb meets it."""
    box = button.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def address(row: ApprovalRow, *, listed: bool) -> str:
    """The page of a request: from the inbox, or from a push message or mail."""
    return f"/approvals/{row.id}/{'?box=open&sort=age' if listed else ''}"


@pytest.mark.parametrize("pause_ms", [120, 700])
@pytest.mark.parametrize("listed", [True, False], ids=["inbox", "push"])
@pytest.mark.rubric(27)
@pytest.mark.requirement("D02")
def test_the_second_tap_on_a_phone_decides_nothing(
    house: House, people: People, listed: bool, pause_ms: int
) -> None:
    first, second = pair(house, undo=UNDO)
    screen = people("manager", phone=True)
    page = screen.open(address(first, listed=listed))
    screen.see_ready()
    x, y = middle(screen.one(f".mbar {APPROVE}"))
    page.touchscreen.tap(x, y)
    page.wait_for_timeout(pause_ms)
    page.touchscreen.tap(x, y)
    expect(screen.one("#outcome")).to_be_visible()
    screen.see_ready()
    # The decided card stays, with both ways on; the second tap pressed neither.
    expect(screen.one("h1")).to_contain_text("Two taps: first")
    assert (now(first).status, now(second).status) == ("held", "pending")
    bar = screen.one(".mbar")
    expect(bar.get_by_role("button", name="Undo decision")).to_be_enabled()
    bar.get_by_role("link", name="Next request").tap()
    expect(screen.one("h1")).not_to_contain_text("Two taps: first")
    expect(screen.one("#approval-side")).to_have_attribute("data-status", "pending")


@pytest.mark.parametrize("listed", [True, False], ids=["inbox", "push"])
@pytest.mark.rubric(27)
@pytest.mark.requirement("D02")
def test_what_cannot_be_undone_asks_a_second_time_on_a_phone(
    house: House, people: People, listed: bool
) -> None:
    first, second = pair(house)
    screen = people("manager", phone=True)
    page = screen.open(address(first, listed=listed))
    screen.see_ready()
    x, y = middle(screen.one(f".mbar {APPROVE}"))
    page.touchscreen.tap(x, y)
    dialog = screen.one("#approve-dialog")
    expect(dialog).to_contain_text("Approve what can’t be undone?")
    x, y = middle(dialog.locator(APPROVE))
    page.touchscreen.tap(x, y)  # in the first second of the dialog
    expect(dialog).to_be_visible()
    screen.see_ready()
    assert (now(first).status, now(second).status) == ("pending", "pending")
    dialog.locator(APPROVE).tap()
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "approve")
    assert (now(first).status, now(second).status) == ("held", "pending")


@pytest.mark.rubric(27)
@pytest.mark.requirement("D02")
def test_a_key_pressed_twice_decides_once_at_most(house: House, people: People) -> None:
    first, second = pair(house, undo=UNDO)
    screen = people("manager")
    page = screen.open(address(first, listed=True))
    screen.see_ready()
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    page.keyboard.press("a")
    page.keyboard.press("j")  # no way on in the first second either
    expect(screen.one("#outcome")).to_be_visible()
    expect(screen.one("h1")).to_contain_text("Two taps: first")
    assert (now(first).status, now(second).status) == ("held", "pending")
    screen.see_ready()
    page.keyboard.press("z")
    expect(screen.one("#approval-side")).to_have_attribute("data-status", "pending")
    page.keyboard.press("a")
    expect(screen.one("[data-early]").first).to_be_attached()
    assert now(first).open

    lasting, _ = pair(house)
    screen.open(address(lasting, listed=True))
    screen.see_ready()
    for key in ("a", "a", "Enter"):
        page.keyboard.press(key)
    expect(screen.one("#approve-dialog")).to_be_visible()
    assert now(lasting).open
    screen.see_ready()
    page.keyboard.press("Enter")
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "approve")


@pytest.mark.requirement("D02")
def test_no_verb_is_live_in_its_first_second_however_it_is_pressed(
    house: House, people: People
) -> None:
    row = payments.pay(house, undo=UNDO, terms=Terms(stages=(Seat(count=2),)))
    screen = people("manager")
    page = screen.page
    page.goto(house.url + address(row, listed=True), wait_until="domcontentloaded")
    early = page.evaluate("""() => {
      const verbs = [...document.querySelectorAll("[data-decide]")];
      for (const verb of verbs) verb.click();
      return verbs.map(verb => verb.getAttribute("aria-disabled"));
    }""")
    page.keyboard.press("a")
    assert len(early) > 3
    assert set(early) == {"true"}
    assert now(row).open
    assert screen.one("dialog[open]").count() == 0
    screen.see_ready()
    # Changed by somebody else and looked at: this is another card in the same place.
    payments.decide(house, row, "second_manager", "edit", args=payments.NEW | {"amount": "1.00"})
    expect(screen.one("#approval-changed")).to_contain_text("changed since you opened it")
    screen.press("I’ve reviewed the change")
    expect(screen.one(f"#decision {APPROVE}")).to_have_attribute("aria-disabled", "true")
    screen.see_ready()
    expect(screen.one(f"#decision {APPROVE}")).to_be_enabled()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
@pytest.mark.requirement("D02")
def test_several_at_once_name_what_cannot_be_undone(
    house: House, people: People, scripts: bool
) -> None:
    lasting, undoable = pair(house)[0], pair(house, undo=UNDO)[0]
    screen = people("manager", java_script_enabled=scripts)
    page = screen.open("/approvals/?box=open&sort=age")
    for row in (lasting, undoable):
        tick = screen.one(f"[data-tick][value^='{row.id}']")
        if not tick.is_visible():
            screen.one(f"details:has([value^='{row.id}'])").locator("summary").first.click()
        tick.check()
    screen.one("#bulkbar button[value=approve]").click()
    together = screen.one("#together")
    expect(together).to_contain_text("I know that 1 of these can’t be undone")
    if scripts:
        screen.see_ready()
    together.locator("footer button").click()  # the browser asks for the tick
    expect(together).to_be_visible()
    assert now(lasting).open
    assert now(undoable).open
    together.locator("#lasting").check()
    together.locator("footer button").click()
    expect(screen.one("#banners")).to_contain_text("2 requests approved.")
    assert page.url.partition("?")[0].endswith("/approvals/")
    assert [now(row).outcome for row in (lasting, undoable)] == ["approve", "approve"]


@pytest.mark.requirement("D02")
def test_without_scripts_the_second_question_is_a_page_of_its_own(
    house: House, people: People
) -> None:
    row, other = pair(house)[0], pair(house, undo=UNDO)[0]
    screen = people("manager", java_script_enabled=False)
    screen.open(address(row, listed=True))
    screen.one("#comment").fill("Checked by phone.")
    screen.one(f"#decision {APPROVE}").click()
    question = screen.one("#second-question")
    expect(question).to_contain_text("Approve what can’t be undone?")
    expect(question).to_contain_text("€48,200.00")
    assert now(row).open
    question.locator(APPROVE).click()
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "approve")
    assert (now(row).status, now(row).comment) == ("held", "Checked by phone.")
    # What can be undone needs one answer.
    screen.open(address(other, listed=True))
    screen.one(f"#decision {APPROVE}").click()
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "approve")


@pytest.mark.requirement("D02")
def test_before_the_scripts_no_pointer_meets_what_decides_or_what_took_its_place(
    house: House, people: People
) -> None:
    """Also where less motion is wanted, as in every test here."""
    row = payments.pay(house, undo=UNDO, terms=Terms(undo_window=60))
    screen = people("manager", phone=True, java_script_enabled=False)
    # A second that never passes: nothing here depends on how fast the page came.
    still = screen.context.new_cdp_session(screen.page)
    still.send("Animation.enable")
    still.send("Animation.setPlaybackRate", {"playbackRate": 0})

    def meets(selector: str) -> set[str]:
        script = """all => all.filter(one => one.checkVisibility())
          .map(one => getComputedStyle(one).pointerEvents)"""
        return set(screen.page.locator(selector).evaluate_all(script))

    screen.open(address(row, listed=True))
    assert meets("[data-decide]") == {"none"}
    assert meets("main") == {"auto"}
    payments.decide(house, row, "manager", "approve")
    screen.open(address(row, listed=True))
    assert meets("[data-decide]") | meets("main a") == {"none"}
