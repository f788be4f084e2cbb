"""One person, fifty agents at work in real workers that are killed meanwhile, one browser."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, expect

from checkpoints.chain import verify_thread
from tests.browser.house import without_leave
from tests.browser.screens import WIDE, Screen
from tests.faults.bench import PATIENCE, SHORT, Case, Field, Worker, wait_until
from tests.support.cast import Cast, make_cast
from tests.support.site import started_site

pytestmark = [pytest.mark.browser, pytest.mark.requirement("A35")]
AGENTS = {"GATEPOST_AGENTS": "tests.faults.agents.own_agents"}
WORKERS, SLOTS = 3, 2
ASK, BREAK, FIFTY = 5, 4, 50
HELD = WORKERS * SLOTS  # one in each slot when the first workers are killed
NEEDED = ("lane-attention", "lane-failed", "lane-waiting")
LANES = """() => [...document.querySelectorAll('tbody[id^=lane-]')].map(lane => [
  lane.id, [...lane.querySelectorAll('tr[id^=thread-]')].map(row => row.id.slice(7))])"""


@dataclass
class Fleet:
    """Web process, workers, and the threads of this test."""

    url: str
    cast: Cast
    folder: Path
    threads: Field
    workers: list[Worker] = field(default_factory=list)

    def start_worker(self) -> Worker:
        with without_leave():
            worker = Worker(
                self.folder,
                f"fifty-{len(self.workers)}",
                slots=SLOTS,
                environment=AGENTS,
                settings=SHORT,
            )
        self.workers.append(worker)
        return worker


@pytest.fixture
def fleet(browser: Browser, real_db: str, tmp_path: Path) -> Iterator[Fleet]:
    # So that only pushes can move the page.
    site = started_site(slots=0, **SHORT, **AGENTS, GATEPOST_POLL_SECONDS="600")
    with without_leave():
        entered = site.__enter__()
    cast = make_cast()
    made = Fleet(entered.url, cast, tmp_path, Field(tmp_path, cast.workspace))
    try:
        for worker in [made.start_worker() for _ in range(WORKERS)]:
            worker.wait_ready()
        yield made
    finally:
        for worker in made.workers:
            worker.kill()
        site.__exit__(None, None, None)


def lanes(screen: Screen) -> dict[str, list[UUID]]:
    """{lane: ids of its rows} in the order in which they stand on the page."""
    shown: list[tuple[str, list[str]]] = screen.page.evaluate(LANES)
    return {name: [UUID(row) for row in rows] for name, rows in shown if rows}


def count(screen: Screen, status: str, n: int) -> None:
    """Wait until the page counts so many threads of a status, by itself."""
    shown = screen.one(f'[data-count="{status}"]').first
    expect(shown).to_have_text(str(n), timeout=1_000 * PATIENCE)


def ended(cases: list[Case]) -> Counter[str]:
    return Counter(str(case.row().status) for case in cases)


def test_fifty_agents_recover_from_killed_workers_and_the_board_asks_for_the_right_ones(
    fleet: Fleet, browser: Browser
) -> None:
    held = [fleet.threads.play("look a", "look b", "look c", hold=("in-b",)) for _ in range(HELD)]
    for case in held:
        case.wait_called("b")  # each slot is in the middle of a call
    asking = [fleet.threads.play("look a", "ask parcel") for _ in range(ASK)]
    failing = [fleet.threads.play("look a", "break column") for _ in range(BREAK)]
    steps = ("look a", "look b", "deliver c", "look d")
    # Two stay in their last call until the third worker has been killed.
    plain = [
        fleet.threads.play(*steps, hold=("in-d",) if n < 2 else ())
        for n in range(FIFTY - HELD - ASK - BREAK)
    ]
    calm = held + plain
    assert len(calm + asking + failing) == FIFTY

    width, height = WIDE
    context = browser.new_context(viewport={"width": width, "height": height})
    cookie: Any = {**fleet.cast.cookie("operator"), "url": fleet.url}
    context.add_cookies([cookie])
    screen = Screen(context, fleet.url)
    screen.open("/")
    screen.see_live()
    count(screen, "running", HELD)
    count(screen, "queued", FIFTY - HELD)

    # Two of three workers are gone in the middle of a call; nobody does anything about it.
    struck = [case for case in held if _of(fleet, case, 2)]
    for worker in fleet.workers[:2]:
        worker.kill()
    for case in held:
        case.go("in-b")
    for worker in [fleet.start_worker() for _ in range(2)]:
        worker.wait_ready()
    wait_until(lambda: ended(calm)["succeeded"] >= 10, what=lambda: ended(calm))
    for case in plain[:2]:
        case.wait_called("d")
    fleet.workers[2].kill()
    for case in plain[:2]:
        case.go("in-d")
    fleet.start_worker().wait_ready()

    # Meanwhile the page can be used: another window of the same person opens it, and searches.
    begun = time.monotonic()
    other = Screen(context, fleet.url)
    other.open("/?q=status:queued")
    other.see_live()
    other.page.close()
    assert time.monotonic() - begun < 10

    count(screen, "succeeded", len(calm))
    count(screen, "failed", BREAK)
    count(screen, "waiting", ASK)
    shown = lanes(screen)
    assert list(shown)[:2] == ["lane-failed", "lane-waiting"]
    assert set(shown["lane-failed"]) == {case.id for case in failing}
    assert set(shown["lane-waiting"]) == {case.id for case in asking}
    needing = {row for lane in NEEDED for row in shown.get(lane, [])}
    assert not needing & {case.id for case in calm}, "what recovers by itself asks for nobody"
    assert screen.documents == ["GET /"], "one look at the page was enough"

    # What was cut off was taken over by itself; nothing that was recorded happened twice.
    assert len(struck) == 2 * SLOTS
    for case in struck:
        assert case.kinds().count("lease.taken_over") == 1, case.summary()
        assert (len(case.calls("a")), len(case.calls("b"))) == (1, 2)
    for case in plain:
        assert len(set(case.calls("c"))) == 1
        assert case.kinds().count("effect.finished") == 1
    for case in fleet.threads.cases:
        assert verify_thread(case.id).intact

    # What a person decides leaves the top.
    for case in asking:
        case.decide("approve")
    count(screen, "succeeded", len(calm) + ASK)
    assert "lane-waiting" not in lanes(screen)
    assert [len(case.calls("parcel")) for case in asking] == [1] * ASK
    assert screen.unforeseen() == []
    context.close()


def _of(fleet: Fleet, case: Case, first: int) -> bool:
    """Whether one of the first workers has the lease of a thread."""
    return any(case.holder() in worker.slots() for worker in fleet.workers[:first])
