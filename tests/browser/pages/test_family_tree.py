"""A family tree follows the work of all its threads, by pushes alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import expect

from dashboard.operate.embedded.process import processes
from tests.browser.conftest import People
from tests.browser.house import House
from tests.unit.workers.tree.agents import GRAPHS
from tests.unit.workers.tree.conftest import Fleet
from workers.code.registry import announce

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


@pytest.fixture
def alone(house: House) -> Iterator[House]:
    """The product while its worker stands still, so that the test takes each step itself."""
    worker = house.site.worker
    assert worker is not None
    processes.signal_group(worker.pid, signal.SIGSTOP)
    yield house
    processes.signal_group(worker.pid, signal.SIGCONT)


def test_a_tree_moves_with_its_threads(alone: House, people: People) -> None:
    house = alone
    fleet = Fleet({graph.name: announce(graph, {}, ()) for graph in GRAPHS}, house.cast.workspace)
    files = [f"chapter-{n}.txt" for n in range(4)]
    lead = fleet.start("lead", files=files, bad=files[:1], failures="list")
    pages = [people("operator"), people("operator", phone=True)]
    for page in pages:
        page.open(f"/threads/{lead}/")
        page.see_live()
        expect(page.one("#thread-family")).to_be_hidden()
        page.forget()

    def work_on(agent: str, n: int = 1) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM gp_thread WHERE status = 'queued' AND agent = %s "
                "AND workspace_id = %s ORDER BY title LIMIT %s",
                (agent, house.cast.workspace, n),
            )
            for (thread,) in cursor.fetchall():
                assert fleet.work_on(thread)

    def see(counts: dict[str, int], waits: str) -> None:
        for page in pages:
            for status, n in counts.items():
                badge = page.one(f'#kin-reader [data-count="{status}"] b')
                expect(badge).to_have_text(str(n))
            expect(page.one("#awaited b")).to_have_text(waits)

    work_on("lead")
    see({"queued": 4}, "Waiting for 4 of 4 children.")
    work_on("reader")
    see({"queued": 3, "failed": 1}, "Waiting for 3 of 4 children.")
    pages[0].one("#kin-reader summary").click()
    work_on("reader", 2)
    see({"queued": 1, "failed": 1, "succeeded": 2}, "Waiting for 1 of 4 children.")
    expect(pages[0].one("#kin-reader li .title").first).to_be_visible()
    assert all(page.sideways() <= 0 for page in pages)
    work_on("reader")
    work_on("lead")
    for page in pages:
        page.see_status("succeeded")
        expect(page.one("#awaited")).to_have_count(0)
        assert page.documents == []
        assert page.polls == []
    # A line of the tree leads to a board of exactly these threads.
    pages[0].one('#kin-reader [data-count="succeeded"]').click()
    expect(pages[0].one("tr[id^=thread-]")).to_have_count(3)
