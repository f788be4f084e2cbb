"""Pages follow the work: by pushes alone, by the poll alone, on every board, through an outage."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings
from playwright.sync_api import expect

from checkpoints import store
from dashboard.operate.embedded.process import processes
from tests.browser.conftest import People
from tests.browser.house import House, site
from tests.browser.screens import Screen

pytestmark = pytest.mark.browser
# Of all that other tests left, the board without a filter shows the worst first.
NEW = "/?q=agent:script+age:<5m"


def numbers(screen: Screen) -> list[int]:
    """The events that a thread's page lists, oldest first."""
    rows = screen.one("#thread-events tr[id^=event-]").evaluate_all("rows => rows.map(r => r.id)")
    return sorted(int(row.removeprefix("event-")) for row in rows)


@pytest.mark.rubric(5)
@pytest.mark.requirement("D01")
def test_two_boards_in_two_browsers_follow_by_pushes_alone(house: House, people: People) -> None:
    boards = [people("operator"), people("auditor")]
    for board in boards:
        board.open("/")
        board.see_live()
    case = house.play("look a", "look b", hold=("in-a",))
    # Its lane may be longer than its share of the board; the activity beside it has all.
    rows = [board.one(f"#board-feed li:has(a[href='/threads/{case.id}/'])") for board in boards]
    for row in rows:
        expect(row).to_contain_text(case.row().title)
        expect(row).not_to_contain_text("Finished")
    case.go("in-a")
    for row in rows:
        expect(row).to_contain_text("Finished")
    for board in boards:
        assert board.documents == ["GET /"]
        assert board.polls == []
        assert board.frames


@pytest.mark.requirement("F15")
def test_a_loaded_page_is_sent_nothing_and_then_what_changes(house: House, people: People) -> None:
    """The mark of a region goes with the first news of it, the others stay."""
    case = house.play("look a")
    page = people("operator")
    page.open(f"/threads/{case.id}/")
    expect(page.one("#thread-head")).to_contain_text("Succeeded")
    page.forget()
    page.open(f"/threads/{case.id}/")
    page.see_live()
    page.page.wait_for_timeout(1_500)  # the hub looks at a family once a second
    topics = [frame["topic"] for frame in page.frames if frame["type"] == "frame"]
    assert not [topic for topic in topics if str(case.id) in topic]
    marked = set(page.one("[data-region][data-mark]").evaluate_all("all => all.map(el => el.id)"))
    assert {"thread-head", "thread-events", "thread-family"} <= marked
    store.rename(case.id, title="Another title", actor="user:1")
    expect(page.one("#thread-head")).to_contain_text("Another title")
    expect(page.one("#thread-events[data-mark], #thread-head[data-mark]")).to_have_count(0)
    expect(page.one("#thread-family[data-mark]")).to_have_count(1)
    assert page.polls == []


@contextmanager
def no_hints() -> Iterator[list[bytes]]:
    """Valkey refuses every hint of every process; gives those that came through all the same."""
    with redis.Redis.from_url(settings.REDIS_URL) as valkey:
        ear = valkey.pubsub(ignore_subscribe_messages=True)
        ear.subscribe("gatepost:hints")
        heard: list[bytes] = []
        valkey.execute_command("ACL", "SETUSER", "default", "-publish")
        try:
            yield heard
            while (message := ear.get_message(timeout=0.1)) is not None:
                heard.append(message["data"])
        finally:
            valkey.execute_command("ACL", "SETUSER", "default", "+publish")
            ear.close()


@pytest.mark.requirement("D01")
def test_without_any_hint_the_poll_alone_moves_the_page(house: House, people: People) -> None:
    more = {"slots": "0", "GATEPOST_POLL_SECONDS": "1", "GATEPOST_PUBLISHED": str(house.published)}
    with site(**more) as polling:
        case = house.play("look a", "look b", hold=("in-a",))
        case.wait_called("a")
        pages = {"poll": people("operator", url=polling.url), "push": people("operator")}
        for page in pages.values():
            page.open(f"/threads/{case.id}/")
            page.see_live()
            page.see_status("running")
        # From here on nothing is pushed; what moves is what asks.
        with no_hints() as heard:
            case.go("in-a")
            case.wait_status("succeeded")
            pages["poll"].see_status("succeeded")
            assert numbers(pages["poll"]) == [event.seq for event in case.events()]
            pages["push"].see_status("running")
        assert heard == []
        assert pages["poll"].documents == [f"GET /threads/{case.id}/"]
        assert pages["push"].documents == [f"GET /threads/{case.id}/"]
        assert pages["push"].polls == []


@pytest.mark.rubric(7)
@pytest.mark.requirement("D01")
def test_an_outage_is_shown_and_nothing_is_missed_after_it(house: House, people: People) -> None:
    case = house.play("look a", "look b", "think c", "look d", hold=("in-a",))
    case.wait_called("a")
    screens = {
        "board": people("operator"),
        "other": people("auditor"),
        "thread": people("operator"),
    }
    for name, screen in screens.items():
        screen.allow("WebSocket connection|ERR_CONNECTION_REFUSED|Failed to load resource")
        screen.open(f"/threads/{case.id}/" if name == "thread" else NEW)
        screen.see_live()
    expect(screens["board"].one(f"#thread-{case.id}")).to_have_attribute("data-status", "running")
    pause = screens["thread"].one("[data-action=pause]")
    expect(pause).not_to_have_attribute("aria-disabled", "true")

    house.kill_web()
    deadline = time.monotonic() + 3
    for screen in screens.values():
        left = max(1.0, (deadline - time.monotonic()) * 1000)
        badge = screen.one("#live-badge")
        expect(badge).to_have_attribute("data-state", "offline", timeout=left)
        expect(badge).to_contain_text("Offline since")
    expect(pause).to_have_attribute("aria-disabled", "true")
    enabled = "[data-live-action]:not([aria-disabled=true])"
    expect(screens["thread"].one(enabled)).to_have_count(0)
    expect(screens["board"].one(enabled)).to_have_count(0)

    # The work goes on without any page.
    case.go("in-a")
    case.wait_status("succeeded")
    house.start_web()
    for screen in screens.values():
        screen.see_live()
    for name in ("board", "other"):
        row = screens[name].one(f"#thread-{case.id}")
        expect(row).to_have_attribute("data-status", "succeeded")
    screens["thread"].see_status("succeeded")
    assert numbers(screens["thread"]) == [event.seq for event in case.events()]
    expect(screens["thread"].one(enabled)).not_to_have_count(0)
    for screen in screens.values():
        assert len(screen.documents) == 1


@pytest.mark.rubric(7)
@pytest.mark.requirement("D01")
def test_a_server_that_freezes_is_shown_and_nothing_can_be_pressed(
    house: House, people: People
) -> None:
    case = house.play("look a", hold=("in-a",))
    case.wait_called("a")
    thread, form = people("operator"), people("operator")
    pages = {thread: f"/threads/{case.id}/", form: "/threads/new/?agent=script"}
    for screen, path in pages.items():
        screen.allow("WebSocket connection|ERR_|Failed to load resource")
        screen.open(path)
        screen.see_live()
    enabled = "[data-live-action]:not([aria-disabled=true])"
    expect(thread.one(enabled)).not_to_have_count(0)
    processes.signal_group(house.site.web.pid, signal.SIGSTOP)
    try:
        # It asks each 2 s and gives 5 s for an answer; the sockets stay open all the while.
        for screen in pages:
            badge = screen.one("#live-badge")
            expect(badge).to_contain_text("No answer for", timeout=9_000)
            expect(badge).to_have_attribute("data-state", "offline")
        expect(thread.one(enabled)).to_have_count(0)
        start = form.page.get_by_role("button", name="Start", exact=True)
        expect(start).to_have_attribute("aria-disabled", "true")
    finally:
        processes.signal_group(house.site.web.pid, signal.SIGCONT)
    for screen in pages:
        screen.see_live()
        expect(screen.one("[data-off]")).to_have_count(0)
    expect(thread.one(enabled)).not_to_have_count(0)
    case.go("in-a")
    thread.see_status("succeeded")


def test_a_page_that_is_left_while_it_connects_complains_of_nothing(
    house: House, people: People
) -> None:
    viewer = people("viewer")
    viewer.open("/")
    viewer.see_live()
    processes.signal_group(house.site.web.pid, signal.SIGSTOP)
    try:
        # It comes back from the browser's memory and is left again: nobody answers its connection.
        viewer.page.evaluate(
            "for (const name of ['pagehide', 'pageshow', 'pagehide']) "
            "dispatchEvent(new PageTransitionEvent(name, {persisted: true}))"
        )
    finally:
        processes.signal_group(house.site.web.pid, signal.SIGCONT)
    viewer.open("/")
    viewer.see_live()
    assert viewer.complaints == []
