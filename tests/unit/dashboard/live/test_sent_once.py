"""What a page has brought is not sent again by its socket."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from dashboard.live.served import digest_of
from tests.unit.dashboard import scene

from .following import Follower, LiveThread
from .following import house as house
from .following import live as live

LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "/": ("board", ("board-counts", "board-lanes", "board-feed")),
    "/approvals/": ("approvals", ("nav-approvals", "inbox-list")),
    "/incidents/": ("incidents", ("incidents-list",)),
}


def brought(live: LiveThread, address: str) -> tuple[int, str]:
    """(number, mark) of a page as it is loaded now."""
    html = live.cast.client("viewer").get(address).content.decode()
    match = re.search(r'<main id="main"[^>]* data-seq="(\d+)" data-mark="([^"]+)"', html)
    assert match is not None
    return int(match[1]), match[2]


def join(page: Follower, topic: str, regions: tuple[str, ...], seq: int, mark: str) -> None:
    """Join as a page does that has loaded with this number and mark."""
    message: dict[str, Any] = {
        "type": "join",
        "mark": mark,
        "regions": [{"id": region, "topic": topic} for region in regions],
        "topics": {topic: seq},
    }
    page.line.send(json.dumps(message))


def is_sent(page: Follower) -> bool:
    """Whether HTML comes; a hint that was under way brings a frame without any."""
    ends = time.monotonic() + 1
    try:
        while not page.message("frame", seconds=ends - time.monotonic())["regions"]:
            pass
    except TimeoutError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("address", LISTS)
def test_a_list_is_not_sent_to_the_page_that_brought_it(live: LiveThread, address: str) -> None:
    topic, regions = LISTS[address]
    scene.waiting(live.cast.workspace, live.agent)
    seq, mark = brought(live, address)
    with live.follow("viewer", {}) as first, live.follow("viewer", {}) as second:
        join(first, topic, regions, seq, mark)
        assert not is_sent(first)
        join(second, topic, regions, 0, mark)  # as the inbox does, whose count stands in the frame
        assert not is_sent(second)
        if topic == "incidents":
            return
        scene.waiting(live.cast.workspace, live.agent)
        assert regions[1] in first.frame()["regions"]
        assert regions[1] in second.frame()["regions"]


@pytest.mark.parametrize("address", LISTS)
def test_a_page_that_is_older_gets_the_whole_list(live: LiveThread, address: str) -> None:
    topic, regions = LISTS[address]
    seq, mark = brought(live, address)
    number, _, digest = mark.partition(":")
    assert number == str(seq)
    for older in ("", f"{number}:{digest_of(topic, 'another')}", f"{seq - 1}:{digest}"):
        with live.follow("viewer", {}) as page:
            join(page, topic, regions, seq - (older == ""), older)
            assert set(page.frame()["regions"]) == set(regions), older


def test_after_a_frame_the_mark_of_the_page_counts_no_more(live: LiveThread) -> None:
    """A page that reconnects may show a state between, and the list may be as it was before."""
    seq, mark = brought(live, "/")
    with live.follow("viewer", {}) as page:
        join(page, "board", LISTS["/"][1], seq + 1, mark)
        assert set(page.frame()["regions"]) == set(LISTS["/"][1])
