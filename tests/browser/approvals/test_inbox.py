"""The inbox in a real browser: a hundred mixed requests in minutes, keys, ticks, no script."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group
from playwright.sync_api import Browser, expect

from approvals import queries as gates
from approvals.inbox import boxes as inbox
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from tests.browser.conftest import People
from tests.browser.house import House, site
from tests.browser.pages.test_accessible import faults
from tests.browser.requests import agent_of, ask, hundred
from tests.browser.screens import PHONE, Screen
from tests.conftest import real_database
from tests.faults.bench import Field
from tests.support import decisions
from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.browser
PATIENCE_SECONDS = 300  # five minutes for a hundred requests
WHY_ONE, WHY_MANY = "The payee's account is new to us.", "The autumn list is not agreed yet."


@pytest.fixture(scope="module")
def house(
    browser: Browser, django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[House]:
    """A house of its own without a worker: who waits here waits for people only."""
    folder = tmp_path_factory.mktemp("inbox")
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_inbox"),
        site(slots="0") as started,
    ):
        from tests.support.cast import make_cast

        cast = make_cast()
        cast.users["manager"].groups.add(Group.objects.create(name="treasury"))
        yield House(cast, started, folder, folder, Field(folder, cast.workspace))


def now(house: House, row: ApprovalRow) -> ApprovalRow:
    return gates.approval(row.id, workspace=house.cast.workspace)


def changed_by_another(house: House, row: ApprovalRow) -> str:
    """Somebody else edits the proposal while the list stands open; the hash that stands now."""
    args = {**row.args, "recipients": [*row.args["recipients"], "late@example.com"]}
    other = house.cast.actor("second_manager")
    decisions.decide(other, row.id, "edit", row.standing_hash, args=args)
    result = now(house, row)
    assert result.open
    assert result.standing_hash != row.standing_hash
    return result.standing_hash


class Reviewer:
    """Does what a person with a keyboard does, and keeps account of it."""

    def __init__(self, screen: Screen) -> None:
        self.screen, self.page = screen, screen.page

    def sees(self) -> UUID:
        """The request whose page is open."""
        return UUID(self.page.url.partition("/approvals/")[2][:36])

    def approve(self) -> None:
        self.screen.see_ready()
        self.page.keyboard.press("a")
        self.page.locator("dialog[open] .btn.primary").click()

    def reject(self, why: str) -> None:
        self.screen.see_ready()
        self.page.keyboard.press("r")
        dialog = self.page.locator("dialog[open]")
        dialog.locator("textarea").fill(why)
        dialog.get_by_role("button", name="Reject", exact=True).click()

    def edit(self, **args: Any) -> None:
        """Approve with other arguments."""
        self.page.keyboard.press("e")
        form = self.page.locator("form:has(textarea[name=args])")
        form.get_by_text("JSON", exact=True).first.click()
        form.locator("textarea[name=args]").fill(json.dumps(args))
        form.locator("footer .btn.primary, button[name=verdict][value=edit]").first.click()
        self.page.locator("#second-question button.primary").click()

    def goes_on(self) -> None:
        """From the decided request, which stays, to the next one."""
        expect(self.page.locator("#outcome")).to_be_visible()
        self.screen.see_ready()
        self.page.keyboard.press("j")


def test_a_hundred_mixed_requests_in_five_minutes(
    house: House, people: People, record_property: Any
) -> None:
    """Of 100 requests 30 are opened, 10 rejected, 5 edited, 5 changed meanwhile."""
    mixed = hundred(house.cast.workspace)
    query = {row.id: row for row in mixed.all}
    assert len(query) == 100
    did: dict[UUID, tuple[str, str]] = {}  # what the reviewer did to what they saw
    screen = people("manager")
    page, reviewer = screen.page, Reviewer(screen)

    began = time.monotonic()
    screen.open("/approvals/?box=mine")
    expect(screen.one("[data-count=mine]")).to_have_text("100")
    screen.see_live()

    # High risk stands on top and is decided page by page, from one to the next.
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    for n in range(30):
        expect(screen.one("#approval-title")).to_be_visible()
        expect(screen.one("#place")).to_contain_text(f"1 of {100 - n}")
        screen.see_live()  # the scripts of this page listen to keys
        ident = reviewer.sees()
        assert ident not in did
        assert query[ident].risk == "high"
        if n % 6 == 5:
            did[ident] = ("reject", WHY_ONE)
            reviewer.reject(WHY_ONE)
        elif n % 6 == 2:
            did[ident] = ("edit", "")
            reviewer.edit(**{**query[ident].args, "amount": "100.00"})
        else:
            did[ident] = ("approve", "")
            reviewer.approve()
        expect(screen.one("#approval-side")).to_contain_text(f"{99 - n} requests left to review")
        assert reviewer.sees() == ident
        reviewer.goes_on()
        page.wait_for_url(re.compile(f"/approvals/(?!{ident})"))
    assert sum(what == "edit" for what, _ in did.values()) == 5

    # The rest together. First what is rejected: a tick, and with shift up to another one.
    screen.see_live()
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(screen.one("[data-count=mine]")).to_have_text("70")
    screen.see_live()
    autumn = mixed.medium[20:]
    tick(screen, autumn[0]).click()
    tick(screen, autumn[-1]).click(modifiers=["Shift"])
    expect(screen.one("[data-ticked]")).to_have_text("5 ticked")
    screen.press("Reject")
    page.locator("#together textarea").fill(WHY_MANY)
    page.locator("#together footer button").click()
    expect(screen.one("#banners")).to_contain_text("5 requests rejected.")
    did |= {row.id: ("reject", WHY_MANY) for row in autumn}

    # Then everything else: notices in a range, 45 equal refunds by one key.
    tick(screen, mixed.medium[0]).click()
    tick(screen, mixed.medium[19]).click(modifiers=["Shift"])
    page.locator(".alike-row summary").focus()
    page.keyboard.press("x")
    expect(screen.one("[data-ticked]")).to_have_text("65 ticked")
    screen.press("Approve")
    dialog = screen.one("#together")
    expect(dialog.get_by_role("heading", level=1)).to_have_text(
        re.compile(r"Approve these 65 requests,\s+€[\d,.]+ in \d+ of them\?")
    )
    shown = {
        UUID(text[:36]): text[37:]
        for text in dialog.locator("[name=item]").evaluate_all(
            "elements => elements.map(x => x.value)"
        )
    }
    wanted = [*mixed.low, *mixed.medium[:20]]
    assert shown == {row.id: row.standing_hash for row in wanted}
    changed = {row.id: changed_by_another(house, row) for row in mixed.medium[:5]}
    page.get_by_label("I know that 20 of these can’t be undone").check()
    page.locator("#together footer button").click()
    expect(screen.one("#results h1")).to_have_text("60 approved, 5 not")
    refused = screen.one("[data-refused]").evaluate_all(
        "elements => elements.map(x => x.dataset.refused)"
    )
    assert {UUID(ident) for ident in refused} == set(changed)
    did |= {row.id: ("approve", "") for row in wanted}

    # What changed is looked at again, as it is now, and approved on the list by keys.
    screen.press("Back to the inbox")
    expect(screen.one("[data-count=mine]")).to_have_text("5")
    screen.see_live()
    page.keyboard.press("j")
    for left in range(4, -1, -1):
        title = screen.one(".irow[data-at=true] .ti").inner_text()
        page.keyboard.press("a")  # a notice can't be taken back: its dialog asks
        page.get_by_label("I know that this can’t be undone").check()
        page.locator("#together footer button").click()
        expect(screen.one("#banners")).to_contain_text(f"Approved: {title}")
        expect(screen.one("[data-count=mine]")).to_have_text(str(left))
    expect(screen.one("#inbox-list h2")).to_have_text("Nothing is waiting for you")
    took = time.monotonic() - began

    # Every outcome as the database has it.
    names = {"manager": f"user:{house.cast.users['manager'].pk}"}
    written = {
        ident: (verdict, digest)
        for ident, verdict, digest in rows(
            "SELECT approval_id, verdict, proposal_hash FROM gp_decision WHERE reviewer = %s",
            (names["manager"],),
        )
    }
    assert len(written) == 100
    for ident, (what, why) in did.items():
        row = now(house, query[ident])
        # Whoever approves after an edit approves what the edit put there.
        expected = "edit" if ident in changed else what
        assert row.status in ("held", "settled"), row.title
        assert row.outcome == expected, (row.title, row.outcome, expected)
        if what == "edit":
            assert row.decided_args == {**query[ident].args, "amount": "100.00"}, row.title
        assert row.comment == why, row.title
        seen = changed.get(ident, query[ident].standing_hash)
        verdict, digest = written[ident]
        assert verdict == what, row.title
        assert what == "edit" or digest == seen, row.title
    looks = rows("SELECT approval_id FROM gp_approval_look WHERE person = %s", (names["manager"],))
    assert {row.id for row in mixed.high} <= {ident for (ident,) in looks}
    record_property("seconds", round(took, 1))
    print(f"100 requests: {took:.1f} s, {len(looks)} opened")
    assert took < PATIENCE_SECONDS


def tick(screen: Screen, row: ApprovalRow) -> Any:
    """The tick of a request."""
    return screen.one(f'[data-tick][value^="{row.id}"]')


@pytest.fixture(scope="module")
def some(house: House) -> list[ApprovalRow]:
    """Three low ones that are no equals, one of high risk; the tests decide nothing."""
    agent = agent_of("quiet")
    words = ("Rename the folder", "Archive the tickets", "Tag the pictures")
    low = [
        ask(
            house.cast.workspace,
            agent,
            text,
            tool="refund.pay",
            undo="refund.cancel",
            risk="low",
            args={"n": 1},
        )
        for text in words
    ]
    high = ask(house.cast.workspace, agent, "Wire the deposit", tool="bank.transfer", risk="high")
    return [*low, high]


@pytest.mark.rubric(10)
def test_keys_never_act_while_somebody_types(
    house: House, people: People, some: list[ApprovalRow]
) -> None:
    screen = people("second_manager")
    page = screen.page
    screen.open("/approvals/?box=mine&sort=age&q=the")
    screen.see_live()
    before = page.url
    page.keyboard.press("/")
    page.keyboard.press("End")
    page.keyboard.type(" xareqjk?gan")
    expect(screen.one("#q")).to_have_value("the xareqjk?gan")
    assert page.url == before
    assert not screen.one("[data-tick]:checked").count()
    assert not screen.one("dialog[open]").count()
    screen.one("#q").blur()
    page.keyboard.press("j")
    for key in ("Control+x", "Alt+x", "Meta+x", "Shift+X", "Control+Alt+r"):
        page.keyboard.press(key)
    assert not screen.one("[data-tick]:checked").count()
    assert page.url == before

    page.keyboard.press("x")  # now it is meant
    expect(screen.one("[data-ticked]")).to_have_text("1 ticked")
    page.keyboard.press("x")
    expect(screen.one("#bulkbar")).to_be_hidden()
    page.keyboard.press("a")
    expect(screen.one("#confirm")).to_be_visible()
    page.keyboard.type("jjjxr")  # a dialog is open: its keys are its own
    expect(screen.one("#confirm")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    why = screen.one("#together textarea")
    expect(why).to_be_focused()
    page.keyboard.type("a r x q")
    expect(why).to_have_value("a r x q")
    screen.press("Back")
    expect(screen.one("#q")).to_have_value("the")
    screen.see_live()
    page.keyboard.press("?")
    expect(screen.one("#keys")).to_be_visible()
    expect(screen.one("#keys")).to_contain_text("Tick a range")
    page.keyboard.press("Escape")
    for _ in range(4):
        page.keyboard.press("j")
    page.keyboard.press("a")  # high risk has no button here: its page opens
    expect(screen.one("#approval-title")).to_have_text("Wire the deposit")
    assert all(now(house, row).open for row in some)


def test_without_a_script_the_same_forms_decide(
    house: House, people: People, some: list[ApprovalRow]
) -> None:
    agent = agent_of("plain")
    made = [
        ask(
            house.cast.workspace,
            agent,
            f"Move box {word}",
            tool="refund.pay",
            undo="refund.cancel",
            risk="low",
        )
        for word in ("one", "two")
    ]
    screen = people("second_manager", java_script_enabled=False)
    page = screen.page
    screen.open("/approvals/?box=open&sort=age")
    for row in made:
        tick(screen, row).check()
    page.locator("#bulkbar button[value=approve]").click()
    expect(page.locator("#together li")).to_have_count(2)
    page.locator("#together footer button").click()
    expect(page.locator("#banners")).to_contain_text("2 requests approved.")
    assert [now(house, row).outcome for row in made] == ["approve", "approve"]


def test_a_list_of_ones_own_follows_and_a_phone_shows_it_whole(
    house: House, people: People, some: list[ApprovalRow]
) -> None:
    """Nobody pushes a person's list: their page fetches it as soon as it hears of news."""
    agent = agent_of("lively")
    screen = people("manager", phone=True)
    screen.open("/approvals/?box=mine&sort=age")
    screen.see_live()
    row = ask(house.cast.workspace, agent, "Book the late train", tool="refund.pay", risk="low")
    expect(screen.one(f"#approval-{row.id}")).to_be_visible()
    tick(screen, row).check()
    decisions.decide(
        house.cast.actor("second_manager"), row.id, "approve", row.standing_hash, "", None
    )
    expect(screen.one(f"#approval-{row.id}[data-was]")).to_contain_text(
        "Decided by second_manager: approved"
    )
    expect(screen.one("#bulkbar")).to_be_hidden()
    assert screen.sideways() == 0
    tick(screen, some[0]).check()
    assert faults(screen, Axe()) == {}


@pytest.mark.parametrize("box", ["mine", "team", "due", "high", "open", "done"])
def test_a_phone_shows_each_box_whole(house: House, people: People, box: str) -> None:
    """The boxes are wider than a phone: they stand in two rows, and none covers another."""
    screen = people("manager", phone=True)
    screen.open(f"/approvals/?box={box}")
    screen.see_live()  # the counts have come: nothing grows any more
    boxes = screen.one("#inbox-boxes").evaluate(
        "row => [...row.children].map(chip => chip.getBoundingClientRect())"
        ".map(own => [own.left, own.right, own.top, own.bottom])"
    )
    assert len({top for _, _, top, _ in boxes}) == 2  # else there is nothing to see here
    assert all(0 <= left < right <= PHONE[0] for left, right, _, _ in boxes)
    for one, other in combinations(boxes, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, (one, other)
    assert screen.sideways() == 0


@pytest.mark.parametrize("query", ["box=open&sort=age&q=Keep", "box=mine&sort=age&q=Keep"])
def test_what_somebody_else_decides_stays_in_its_place(
    house: House, people: People, query: str
) -> None:
    """Greyed out, with who decided what; no tick, no key and no button reaches it any more."""
    agent, other = agent_of("keeping"), house.cast.actor("second_manager")
    names = [f"Keep {word} of {query[:8]}" for word in ("one", "two", "three", "four")]
    made = [
        ask(
            house.cast.workspace, agent, name, tool="refund.pay", risk="low", args={"n": n},
            terms=Terms(undo_window=3_600) if n == 2 else None,
        )
        for n, name in enumerate(names)
    ]  # fmt: skip
    ids = [f"approval-{row.id}" for row in made]
    screen = people("manager")
    page = screen.page
    screen.open(f"/approvals/?{query}")
    screen.see_live()
    order = "#inbox-list li.irow"
    shown = screen.one(order).evaluate_all("elements => elements.map(x => x.id)")
    assert [ident for ident in shown if ident in ids] == ids
    heights = screen.one(order).evaluate_all("elements => elements.map(x => x.offsetTop)")
    for row in made[1:3]:
        tick(screen, row).check()
    expect(screen.one("[data-ticked]")).to_have_text("2 ticked")
    page.keyboard.press("k")  # a hand is on the list: nothing in it moves
    expect(screen.one(f"#{ids[1]}[data-at=true]")).to_be_visible()

    decisions.decide(other, made[1].id, "approve", made[1].standing_hash)
    decisions.decide(other, made[2].id, "reject", made[2].standing_hash, "no")
    for ident, message in ((ids[1], "approved"), (ids[2], "rejected")):
        row = screen.one(f"#{ident}[data-was]")
        expect(row).to_contain_text(f"Decided by second_manager: {message}")
        expect(row.locator("input, button")).to_have_count(0)
    assert screen.one(order).evaluate_all("elements => elements.map(x => x.id)") == shown
    assert screen.one(order).evaluate_all("elements => elements.map(x => x.offsetTop)") == heights
    expect(screen.one("#bulkbar")).to_be_hidden()
    assert faults(screen, Axe()) == {}

    # Keys do nothing to it and step over it and its neighbour.
    before = page.url
    for key in "xar":
        page.keyboard.press(key)
    assert page.url == before
    assert not screen.one("dialog[open]").count()
    page.keyboard.press("j")
    expect(screen.one(f"#{ids[3]}[data-at=true]")).to_be_visible()
    page.keyboard.press("k")
    expect(screen.one(f"#{ids[0]}[data-at=true]")).to_be_visible()

    # More news does not lose it; a decision that is taken back opens it again.
    late = ask(house.cast.workspace, agent, "Keep late", tool="refund.pay", risk="low")
    expect(screen.one(f"#approval-{late.id}")).to_be_visible()
    decisions.take_back(other, made[2].id)
    expect(screen.one(f"#{ids[2]}[data-row] [data-tick]")).to_have_count(1)
    expect(screen.one(f"#{ids[1]}")).to_contain_text("Decided by second_manager: approved")
    screen.open(f"/approvals/?{query}")
    expect(screen.one(f"#{ids[0]}")).to_be_visible()
    expect(screen.one(f"#{ids[1]}")).to_have_count(0)
    for row in (made[0], made[2], made[3], late):
        decisions.decide(other, row.id, "reject", now(house, row).standing_hash, "tidy")


def test_of_equal_ones_that_are_unfolded_each_stays(house: House, people: People) -> None:
    agent, other = agent_of("folded"), house.cast.actor("second_manager")
    made = [
        ask(house.cast.workspace, agent, f"Plate order {n}", tool="refund.pay", risk="low")
        for n in range(1, 5)
    ]
    screen = people("manager")
    screen.open("/approvals/?box=open&sort=age&q=Plate")
    screen.see_live()
    fold = screen.one(".alike-row details")
    fold.locator("summary").click()
    members = fold.locator(".members > li")
    expect(members).to_have_count(4)
    ids = [f"approval-{row.id}" for row in made]
    for gone in (2, 0):  # the first of them gives the fold its name
        decisions.decide(other, made[gone].id, "approve", made[gone].standing_hash)
        row = screen.one(f"#{ids[gone]}[data-was]")
        expect(row).to_be_visible()
        expect(row).to_contain_text("Decided by second_manager: approved")
        assert members.evaluate_all("elements => elements.map(x => x.id)") == ids
    expect(fold.locator(".fold")).to_have_text("2 similar")
    expect(fold.locator("[data-tick]")).to_have_count(2)
    # Folded together, the line alone tells how many are left.
    fold.locator("summary").click()
    screen.open("/approvals/?box=open&sort=age&q=Plate")
    screen.see_live()
    for row in (made[1], made[3]):
        decisions.decide(other, row.id, "approve", row.standing_hash)
    expect(screen.one("#inbox-list h2")).to_have_text("Nothing matches")


def test_the_last_one_stays_and_what_only_left_the_box_does_not(
    house: House, people: People
) -> None:
    agent, me = agent_of("leaving"), house.cast.actor("manager")
    last, voted = (
        ask(
            house.cast.workspace, agent, f"Leave {word}", tool="refund.pay", risk="low",
            args={"n": word}, terms=terms,
        )
        for word, terms in (("last", None), ("voted", Terms(stages=(Seat(count=2),))))
    )  # fmt: skip
    screen = people("manager")
    screen.open("/approvals/?box=mine&q=Leave")
    screen.see_live()
    expect(screen.one("#inbox-list li.irow")).to_have_count(2)
    # The same person in another window: their vote leaves it open, but not for them.
    decisions.decide(me, voted.id, "approve", voted.standing_hash)
    expect(screen.one(f"#approval-{voted.id}")).to_have_count(0)
    decisions.decide(house.cast.actor("second_manager"), last.id, "approve", last.standing_hash)
    expect(screen.one(f"#approval-{last.id}[data-was]")).to_contain_text("second_manager")
    expect(screen.one("#inbox-list h2")).to_have_text("Nothing matches")
    screen.page.keyboard.press("j")
    assert not screen.one("[data-at=true]").count()


def test_nobody_s_turn_twice_and_the_barred_are_spared(house: House, people: People) -> None:
    """Four eyes: what somebody may not decide does not stand in their own box."""
    cast, agent = house.cast, agent_of("careful")
    me = f"user:{cast.users['manager'].pk}"
    row = ask(
        cast.workspace, agent, "Grant the refund", tool="refund.pay",
        terms=Terms(stages=(Seat(count=2),), four_eyes=True, barred=(me,)),
    )  # fmt: skip
    mine = people("manager")
    mine.open("/approvals/?box=mine&q=Grant")
    expect(mine.one("#inbox-list h2")).to_have_text("Nothing matches")
    other = people("second_manager")
    other.open("/approvals/?box=mine&q=Grant")
    expect(other.one(f"#approval-{row.id}")).to_contain_text("0 of 2 approved")
    counts = inbox.counts(cast.workspace, None)
    assert "mine" not in counts
