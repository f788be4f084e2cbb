"""The decision page in a real browser: what a reviewer sees, in which order, what a click does."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from tests.browser import payments
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.browser.pages.test_entries import post
from tests.browser.screens import Screen

pytestmark = pytest.mark.browser


def now(row: ApprovalRow) -> ApprovalRow:
    """The request as it stands."""
    return queries.approval(row.id, workspace=row.workspace)


def open_page(screen: Screen, row: ApprovalRow) -> None:
    screen.open(f"/approvals/{row.id}/")
    screen.see_live()
    screen.see_ready()


def button(screen: Screen, verdict: str, *, phone: bool) -> None:
    """Press a verdict where this screen has it."""
    area = ".mbar" if phone else "#decision"
    screen.one(f"{area} button[data-decide={verdict}]").click()


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_it_answers_doubts_in_their_order(house: House, people: People, phone: bool) -> None:
    row = payments.big_payment(house)
    screen = people("second_manager", phone=phone)
    open_page(screen, row)
    main, side = screen.one("#approval-main"), screen.one("#approval-side")
    assert main.locator("h2").all_inner_texts() == [
        "Why a person is asked",
        "What exactly will happen",
        "Can it be undone?",
        "The agent’s reasons",
        "Decisions so far",
        "Earlier decisions on the same tool",
        "Questions",
    ]
    title = main.locator("h1")
    expect(title.locator(".amount")).to_have_text("€48,200.00")
    expect(title).to_contain_text("Pay invoice 4471")
    expect(main).to_contain_text("To Nordwind Logistics GmbH, account LT603250042177160248")
    why = screen.one("#why")
    expect(why).to_contain_text("Payments over 25,000.00 EUR need two people")
    expect(why).to_contain_text("version 3")
    expect(why).to_contain_text("Four eyes")
    exactly = screen.one("#exactly")
    expect(exactly).to_contain_text("~ 1 account changed, ~ 2 changed")
    expect(exactly.locator(".chg", has_text="iban")).to_contain_text("DE19500105175407324931")
    expect(exactly.locator(".chg", has_text="iban")).to_contain_text("LT603250042177160248")
    expect(screen.one("#undo")).to_contain_text("No. It can’t be undone")
    expect(screen.one("#reasons")).to_contain_text("the agent’s own words. Nobody has checked")
    expect(screen.one("#questions")).to_contain_text("The mail passed DKIM.")
    expect(screen.one("#seats")).to_contain_text("1 of 2")
    expect(screen.one("#seats")).to_contain_text("second_manager or team finance-leads")
    expect(side).to_contain_text("Then it escalates to team treasury for 1 h 00")
    assert screen.sideways() == 0
    if phone:
        bar = screen.one(".mbar")
        expect(bar).to_contain_text("€48,200.00 1 of 2 approved")
        for each in bar.locator("button.btn, summary.btn").all():
            box = each.bounding_box()
            assert box is not None
            assert box["height"] >= 48
            assert box["width"] >= 48


@pytest.mark.rubric(28)
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.requirement("D02")
def test_the_last_of_two_is_asked_once_more_and_can_take_it_back(
    house: House, people: People, phone: bool
) -> None:
    row = payments.big_payment(house)
    screen = people("second_manager", phone=phone)
    open_page(screen, row)
    # A key never acts while somebody writes.
    screen.one("#comment").fill("")
    screen.one("#comment").press_sequentially("area zq")
    expect(screen.one("#comment")).to_have_value("area zq")
    expect(screen.one("dialog[open]")).to_have_count(0)
    screen.one("#comment").blur()
    if phone:
        button(screen, "approve", phone=True)
    else:
        screen.page.keyboard.press("a")
    dialog = screen.one("#approve-dialog")
    expect(dialog).to_be_visible()
    for item in (
        "Yours is the last approval", "€48,200.00", "Nordwind Logistics GmbH",
        "LT603250042177160248", row.standing_hash[:4], "It cannot be undone.",
    ):  # fmt: skip
        expect(dialog).to_contain_text(item)
    screen.see_ready()
    if phone:
        box = dialog.bounding_box()
        assert box is not None
        assert box["x"] == 0
        assert round(box["y"] + box["height"]) == 844
    assert now(row).open
    screen.page.keyboard.press("Enter")
    expect(screen.one("#outcome")).to_contain_text("It takes effect in 0:2")
    assert now(row).status == "held"
    screen.see_ready()
    if phone:
        screen.one(".mbar").get_by_role("button", name="Undo decision").tap()
    else:
        screen.page.keyboard.press("z")
    expect(screen.one("#approval-side")).to_have_attribute("data-status", "pending")
    current = now(row)
    assert (current.status, current.outcome) == ("pending", "")
    expect(screen.one("#votes")).to_contain_text("Undone")


@pytest.mark.rubric(26)
def test_what_changed_meanwhile_has_to_be_looked_at(house: House, people: People) -> None:
    row = payments.pay(house, terms=Terms(stages=(Seat(count=2),)))
    screen = people("manager")
    open_page(screen, row)
    screen.one("#comment").fill("half a thought")
    changed = payments.NEW | {"amount": "4820.00"}
    seen = row.standing_hash
    payments.decide(house, row, "second_manager", "edit", args=changed)
    banner = screen.one("#approval-changed")
    expect(banner).to_contain_text("This request changed since you opened it")
    expect(banner).to_contain_text("second_manager")
    expect(banner.locator(".chg")).to_contain_text('"48200.00"')
    expect(banner.locator(".chg")).to_contain_text('"4820.00"')
    expect(screen.one("#decision button[data-decide=approve]")).to_have_count(0)
    expect(screen.one("#comment")).to_have_value("half a thought")
    screen.one("#comment").blur()
    screen.page.keyboard.press("a")
    # Whoever sends the old hash anyway is refused, and sees the same.
    screen.allow("status of 409")
    answer = post(screen, f"/approvals/{row.id}/decide/", verdict="approve", proposal_hash=seen)
    assert answer.status == 409
    assert "I’ve reviewed the change" in answer.text()
    assert now(row).open
    screen.press("I’ve reviewed the change")
    expect(banner).not_to_contain_text("This request changed")
    expect(screen.one("#comment")).to_have_value("half a thought")
    button(screen, "approve", phone=False)
    screen.one("#approve-dialog button.primary").click()  # it is the last of two
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "edit")
    assert now(row).decided_args == changed


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.requirement("D02")
def test_an_edit_is_checked_at_its_field_and_makes_other_approvals_void(
    house: House, people: People, phone: bool
) -> None:
    row = payments.big_payment(house)
    screen = people("second_manager", phone=phone)
    open_page(screen, row)
    if phone:
        screen.one(".mbar summary").tap()
        screen.one(".mbar .menu").get_by_text("Edit first").tap()
    else:
        screen.page.keyboard.press("e")
    form = screen.one("#edit-first")
    expect(form).to_contain_text("1 approval so far will be void: manager")
    screen.allow("status of 422")
    form.get_by_label("amount").fill("much")
    screen.press("Approve these values")
    expect(screen.one("#f-amount")).to_have_attribute("aria-invalid", "true")
    expect(screen.one("#f-amount-hint")).to_contain_text("Use an amount like 12.50.")
    expect(screen.one("#faults")).to_contain_text("amount")
    assert screen.sideways() == 0
    # The other way: all of it as JSON, checked by the same schema.
    form.get_by_text("JSON", exact=True).first.click()
    expect(form.get_by_label("amount")).to_be_hidden()
    raw = screen.one("textarea[name=args]")
    raw.fill("{not json")
    screen.press("Approve these values")
    expect(screen.one("#args-error")).to_contain_text("This is not valid JSON")
    raw.fill(json.dumps(payments.NEW | {"amount": 7}))
    screen.press("Approve these values")
    expect(screen.one("#args-error")).to_contain_text("amount: This must be text, not 7.")
    assert now(row).standing_args is None
    raw.fill(json.dumps(payments.NEW | {"amount": "4820.00"}))
    screen.press("Approve these values")
    screen.one("#second-question button.primary").click()
    expect(screen.one("#banners")).to_contain_text("1 approval so far is void")
    expect(screen.one("#edited .chg")).to_contain_text("4820.00")
    expect(screen.one("#votes")).to_contain_text("Approved, void")
    current = now(row)
    assert current.open
    assert current.shown_args == payments.NEW | {"amount": "4820.00"}
    edit = queries.votes(row.id)[-1]
    assert (edit.verdict, edit.person) == ("edit", house.cast.actor("second_manager").person)


def test_what_others_decide_meanwhile_is_said(house: House, people: People) -> None:
    row = payments.pay(house)
    screen = people("manager")
    open_page(screen, row)
    payments.decide(house, row, "second_manager", "reject", comment="Unknown account.")
    expect(screen.one("#ended")).to_contain_text("This was closed while you had it open.")
    expect(screen.one("#ended")).to_contain_text("second_manager")
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "reject")
    expect(screen.one("#decision")).to_have_count(0)


@pytest.mark.rubric(27)
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_who_loses_the_race_keeps_the_note_and_reads_who_won(
    house: House, people: People, phone: bool
) -> None:
    row = payments.pay(house, risk="high")
    screen = people("manager", phone=phone)
    open_page(screen, row)
    button(screen, "reject", phone=phone)
    screen.one("#reject-reason").fill("The account is new: call them first.")
    payments.decide(house, row, "second_manager", "approve")
    saved = screen.one("#kept-note")
    expect(saved).to_have_value("The account is new: call them first.")
    won = screen.one(".mbar.lost") if phone else screen.one("#ended")
    expect(won).to_contain_text("second_manager")
    expect(won).to_be_in_viewport()
    if phone:
        expect(won).to_contain_text(re.compile(r"approved this at .* · your note is kept"))
    # A second look changes nothing of it.
    screen.page.evaluate("gatepost.ask(['approval-side'])")
    expect(saved).to_have_value("The account is new: call them first.")
    # Whoever had no note is told of none.
    other = payments.pay(house)
    open_page(screen, other)
    payments.decide(house, other, "second_manager", "approve")
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "approve")
    expect(screen.one("#kept-note")).to_be_hidden()


def test_a_verdict_that_comes_too_late_shows_the_note_beside_who_won(
    house: House, people: People
) -> None:
    row = payments.pay(house)
    screen = people("manager", java_script_enabled=False)
    screen.allow("409")
    screen.open(f"/approvals/{row.id}/")
    screen.one("#comment").fill("Looks right to me.")
    payments.decide(house, row, "second_manager", "reject", comment="Unknown account.")
    screen.one("#decision button[data-decide=approve]").click()
    expect(screen.one("#ended")).to_contain_text("second_manager")
    expect(screen.one("#kept-note")).to_have_value("Looks right to me.")
    assert now(row).outcome == "reject"


def test_signed_out_meanwhile_the_text_is_there_after_signing_in(
    house: House, people: People
) -> None:
    row = payments.pay(house)
    screen = people("manager")
    screen.allow("403|socket|Failed to load")
    open_page(screen, row)
    screen.one("#comment").fill("Checked with the vendor by phone.")
    # Signed in anew in another window: this page's form is of the session before.
    screen.page.request.get(f"{screen.base}/login/")
    screen.context.clear_cookies()
    screen.one("#decision button[data-decide=approve]").click()
    screen.one("#approve-dialog button.primary").click()
    expect(screen.one("h1")).to_have_text("You’re signed out")
    expect(screen.one("[data-keeps-draft]")).to_contain_text("your text is still here")
    screen.one(".error-page").get_by_role("link", name="Sign in").click()
    screen.one("#id_username").fill("manager")
    screen.one("#id_password").fill("manager-password")
    screen.press("Sign in")
    expect(screen.one("#comment")).to_have_value("Checked with the vendor by phone.")
    assert now(row).open


def test_on_the_way_through_a_box_the_last_click_can_be_taken_back(
    house: House, people: People
) -> None:
    terms, undo = Terms(undo_window=60), "bank.transfer.recall"
    first = payments.pay(house, title="The first of two", terms=terms, undo=undo)
    payments.pay(house, title="The second of two", terms=terms, undo=undo)
    screen = people("manager")
    screen.open(f"/approvals/{first.id}/?box=open&sort=age")
    screen.see_live()
    screen.see_ready()
    screen.page.keyboard.press("a")
    expect(screen.one("#outcome")).to_be_visible()
    screen.see_ready()
    screen.page.keyboard.press("j")
    bar = screen.one(".held-bar")
    expect(bar).to_contain_text("The first of two")
    assert now(first).status == "held"
    expect(screen.one("#approval-side")).to_have_attribute("data-status", "pending")
    bar.get_by_role("button", name="Undo decision").click()
    expect(screen.one("h1")).to_contain_text("The first of two")
    assert now(first).open


def test_a_question_is_answered_on_the_open_page(house: House, people: People) -> None:
    row = payments.pay(house)
    screen = people("manager")
    open_page(screen, row)
    screen.page.keyboard.press("q")
    dialog = screen.one("#ask-dialog")
    dialog.get_by_label("Your question").fill("Why a new account?")
    dialog.get_by_role("button", name="Ask", exact=True).click()
    expect(screen.one("#questions")).to_contain_text("The agent is preparing an answer")
    assert now(row).open
    payments.reply(row, "The vendor moved to another bank.")
    expect(screen.one("#questions")).to_contain_text("The vendor moved to another bank.")
    expect(screen.one("#decision")).to_be_visible()


@pytest.mark.requirement("D02")
def test_a_reject_says_what_comes_next(house: House, people: People) -> None:
    row = payments.pay(house)
    screen = people("manager")
    open_page(screen, row)
    screen.page.keyboard.press("r")
    dialog = screen.one("#reject-dialog")
    expect(dialog).to_contain_text("So far it has changed nothing outside.")
    dialog.get_by_label("Stop the thread").check()
    dialog.get_by_label("Reason, for the agent and the record").fill("Unknown account.")
    dialog.get_by_role("button", name="Reject", exact=True).click()
    expect(screen.one("#outcome")).to_have_attribute("data-outcome", "reject")
    expect(screen.one("#approval-main")).to_contain_text("The thread stops.")
    current = now(row)
    assert (current.what_next, current.comment) == ("stop", "Unknown account.")
    assert current.decided_by == house.cast.actor("manager").id


def test_what_comes_of_it_is_said(house: House, people: People) -> None:
    case = house.start("orders", folder=str(house.folder))
    case.wait_status("waiting", seconds=60)
    screen = people("manager")
    screen.open(f"/approvals/{case.open().id}/")
    screen.see_live()
    # This agent answers no questions, so none is offered, by button or key.
    screen.page.keyboard.press("q")
    expect(screen.one("#ask-dialog")).to_have_count(0)
    expect(screen.one("#approval-side")).to_have_attribute("data-status", "pending")
    screen.see_ready()
    screen.page.keyboard.press("a")
    if case.open().weight:
        screen.see_ready()
        screen.page.keyboard.press("Enter")
    resumed = screen.one("#resumed")
    expect(resumed).to_contain_text(re.compile(r"Resumed on\s+.+, checkpoint \d+ saved\."))

    # Where no worker has the code the page says so after half a minute, not before.
    row = payments.pay(house)
    other = people("manager")
    other.page.clock.install()
    open_page(other, row)
    button(other, "approve", phone=False)
    other.one("#approve-dialog button.primary").click()
    late = other.one("#not-resumed")
    expect(late).to_be_hidden()
    expect(other.one("#outcome")).to_be_visible()
    other.page.clock.fast_forward(31_000)
    expect(late).to_be_visible()
    expect(late).to_contain_text("Not resumed yet. ")


@pytest.mark.rubric(30)
@pytest.mark.requirement("D02")
def test_all_of_it_works_without_scripts(house: House, people: People) -> None:
    row = payments.big_payment(house)
    screen = people("second_manager", java_script_enabled=False)
    screen.open(f"/approvals/{row.id}/")
    button(screen, "approve", phone=False)
    screen.one("#second-question button.primary").click()
    expect(screen.one("#outcome")).to_contain_text("It takes effect in")
    screen.press("Undo decision")
    expect(screen.one("#decision")).to_be_visible()
    assert now(row).open
    screen.press("Edit first")
    screen.one("#edit-first").get_by_label("amount").fill("4820.00")
    screen.press("Approve these values")
    screen.one("#second-question button.primary").click()
    expect(screen.one("#edited .chg")).to_contain_text("4820.00")
    screen.one("#comment").fill("Who confirmed the account?")
    screen.press("Ask the agent")
    expect(screen.one("#questions")).to_contain_text("Who confirmed the account?")
    screen.one("#comment").fill("Unknown account.")
    screen.page.locator("#plain-next").select_option("stop")
    button(screen, "reject", phone=False)
    expect(screen.one("#approval-main")).to_contain_text("The thread stops.")
    current = now(row)
    assert (current.outcome, current.what_next) == ("reject", "stop")


def test_axe_finds_nothing_in_any_state(house: House, people: People) -> None:
    row = payments.big_payment(house)
    screen, axe = people("second_manager"), Axe()
    results: dict[str, object] = {}
    open_page(screen, row)
    results["open"] = faults(screen, axe)
    for verdict in ("approve", "reject"):
        screen.page.set_viewport_size({"width": 1440, "height": 900})
        button(screen, verdict, phone=False)
        results[verdict] = faults(screen, axe)
        screen.page.keyboard.press("Escape")
    screen.open(f"/approvals/{row.id}/edit/")
    results["edit"] = faults(screen, axe)
    open_page(screen, row)
    payments.decide(house, row, "manager", "edit", args=payments.NEW | {"amount": "1.00"})
    expect(screen.one("#approval-changed")).to_contain_text("changed since you opened it")
    results["changed"] = faults(screen, axe)
    payments.decide(house, row, "second_manager", "approve")
    # One of them: in the card, or in the bar at the foot of a phone.
    expect(screen.page.get_by_role("button", name="Undo decision")).to_be_visible()
    results["held"] = faults(screen, axe)
    assert {state: wrong for state, wrong in results.items() if wrong} == {}
