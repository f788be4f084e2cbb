"""How many bytes a page takes with its socket, at its load and while a thread runs."""

from __future__ import annotations

import gzip
import json
import re
import urllib.request
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from benchmarks.frames import Messages
from checkpoints.states import Status
from tests.unit.dashboard.threads.page.shipped import benches

from .following import LATE, LiveThread
from .following import house as house
from .following import live as live

EVENT_MAX = 1_500  # bytes an event and socket
LOAD_MAX = 12_000  # bytes of a page with its first frames


class Page:
    """A page loaded over HTTP, and the socket that it opens."""

    def __init__(self, live: LiveThread, person: str, address: str) -> None:
        self.key = live.key(person)
        cookie = f"{settings.SESSION_COOKIE_NAME}={self.key}"
        request = urllib.request.Request(
            live.server.origin + address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"}
        )
        with urllib.request.urlopen(request, timeout=LATE) as answer:
            body = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
        self.bytes = len(body)
        self.html = gzip.decompress(body).decode()
        self.messages = Messages()
        self.events_bytes = self.frames = 0
        self.regions: dict[str, str] = {}
        self.seq = 0

    def join(self, *, inflates: bool) -> str:
        """The message that its script sends."""
        main = re.search(r'<main id="main"[^>]*>', self.html)
        assert main is not None
        seq, mark = (re.search(rf'data-{name}="([^"]*)"', main[0]) for name in ("seq", "mark"))
        tags = [tag for tag in re.findall(r"<[^>]*>", self.html) if "data-region=" in tag]
        regions: list[dict[str, str]] = []
        topics: dict[str, int] = {}
        for tag in tags:
            region, topic = (
                re.search(rf'data-{name}="([^"]*)"', tag)[1]  # type: ignore[index]
                for name in ("region", "topic")
            )
            own = self.html.index(tag) > self.html.index(main[0])
            topics.setdefault(topic, int(seq[1]) if own and seq else 0)
            if "data-refetch" not in tag:
                regions.append({"id": region, "topic": topic})
        join = {"type": "join", "regions": regions, "topics": topics, "inflates": inflates}
        return json.dumps(join | {"mark": mark[1] if mark else ""})

    def take(self, data: str | bytes) -> None:
        """Count a message, and take over what it shows."""
        self.events_bytes += len(data)
        message = self.messages.read(data)
        if message["type"] != "frame":
            return
        self.frames += 1
        self.regions |= message["regions"]
        if message["topic"].startswith("thread:"):
            self.seq = message["seq"]


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
    each = {name: page.events_bytes / events for name, page in (("small", small), ("plain", plain))}
    record_property("bytes_per_event", each)
    print(f"{events} events, {small.frames} and {plain.frames} frames, bytes per event: {each}")
    assert events > 20
    assert small.regions["thread-head"] == plain.regions["thread-head"]
    assert small.regions == plain.regions
    assert each["small"] <= EVENT_MAX


@pytest.mark.slow
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
    record_property("bytes", [page.bytes, page.events_bytes])
    print(f"{address}: {page.bytes:,} bytes and {page.events_bytes:,} by the socket")
    assert page.bytes + page.events_bytes <= LOAD_MAX
