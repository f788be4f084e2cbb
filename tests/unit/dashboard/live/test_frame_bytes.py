"""How many bytes a page takes with its socket, at its load and while a thread runs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from benchmarks.page_loads import PageLoad
from checkpoints.states import Status
from tests.unit.dashboard.threads.page.shipped import benches

from .following import LATE, LiveThread
from .following import house as house
from .following import live as live

EVENT_MAX = 1_500  # bytes an event and socket
LOAD_MAX = 12_000  # bytes of a page with its first frames


class Page(PageLoad):
    """A page loaded by somebody of the cast."""

    def __init__(self, live: LiveThread, person: str, address: str) -> None:
        self.key = live.key(person)
        cookie = f"{settings.SESSION_COOKIE_NAME}={self.key}"
        super().__init__(live.server.origin, cookie, address)


def thread_of(live: LiveThread) -> Any:
    """A bench for market research in the workspace of the test."""
    return benches(live.cast.workspace, "gatepost_agents.market_research")["market-research"]


@pytest.mark.slow
def test_a_run_of_market_research_is_few_bytes_an_event(
    live: LiveThread, record_property: Any
) -> None:
    bench = thread_of(live)
    thread: UUID = bench.start(question="Which airport is the windiest?", dataset="weather")
    address = f"/threads/{thread}/"
    small, plain = Page(live, "operator", address), Page(live, "operator", address)
    with live.server.open(small.key) as one, live.server.open(plain.key) as other:
        one.send(small.join(inflates=True))
        other.send(plain.join(inflates=False))
        began = bench.row(thread).last_seq
        row = bench.advance(thread)
        assert row.status is Status.WAITING
        bench.decide(thread, "approve", "fine")
        row = bench.advance(thread)
        assert row.status is Status.SUCCEEDED
        for page, line in ((small, one), (plain, other)):
            while page.seq < row.last_seq:
                page.take(line.recv(LATE))
    events = row.last_seq - began
    each = {name: page.socket_bytes / events for name, page in (("small", small), ("plain", plain))}
    record_property("bytes_per_event", each)
    print(f"{events} events, {small.frames} and {plain.frames} frames, bytes per event: {each}")
    assert events > 20
    assert small.regions["thread-head"] == plain.regions["thread-head"]
    assert small.regions == plain.regions
    assert each["small"] <= EVENT_MAX


@pytest.mark.slow
@pytest.mark.requirement("F15")
@pytest.mark.parametrize("address", ["/", "/approvals/", "thread"])
def test_a_page_with_its_first_frames_is_12_kb(
    live: LiveThread, address: str, record_property: Any
) -> None:
    if address == "thread":
        bench = thread_of(live)
        thread = bench.start(question="Which airport is the windiest?", dataset="weather")
        bench.advance(thread)
        address = f"/threads/{thread}/"
    page = Page(live, "operator", address)
    with live.server.open(page.key) as line:
        line.send(page.join(inflates=True))
        with suppress(TimeoutError):
            while True:
                page.take(line.recv(1.0))
    record_property("bytes", [page.bytes, page.socket_bytes])
    print(f"{address}: {page.bytes:,} bytes and {page.socket_bytes:,} by the socket")
    assert page.bytes + page.socket_bytes <= LOAD_MAX
