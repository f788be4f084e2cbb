"""What a page has brought is not sent again by its socket, and what came since is."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import ExitStack, suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from websockets.sync.client import ClientConnection

from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard.board.incidents.take import TAKE
from dashboard.kit.shapes.requests import Nothing
from dashboard.wire import hints
from tests.contract.things import make_incident
from tests.unit.dashboard import scene

from .following import LiveThread
from .following import house as house
from .following import live as live
from .test_frame_bytes import Page

QUIET_SECONDS = 0.7  # after the last message
# Pages whose regions are all pushed, pages that fetch some themselves, and one with the frame's.
ADDRESSES = {
    "board": "/",
    "narrowed": "/?q=delays",
    "inbox": "/approvals/",
    "mine": "/approvals/?box=mine&sort=age",
    "thread": "/threads/{done}/",
    "past": "/threads/{done}/?cp=1",
    "state": "/threads/{done}/?tab=state",
    "events": "/threads/{done}/?kind=checkpoint",
    "relative": "/threads/{child}/",
    "request": "/approvals/{request}/",
    "decided": "/approvals/{decided}/",
    "incidents": "/incidents/",
    "incident": "/incidents/{incident}/",
    "overview": "/overview/",
    "form": "/threads/new/",
}


@pytest.fixture(autouse=True)
def worker(house: Any) -> None:
    """A worker that lives: pages say where none does."""
    _, _, agent = house
    scene.alive(agent)


@pytest.fixture(scope="module")
def ids(house: Any) -> dict[str, str]:
    """Ids of what the pages show."""
    _, cast, agent = house
    work = scene.lease(scene.start(cast.workspace, agent, by=cast.actor("operator").id))
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="final", leave_by=EventKind.THREAD_SUCCEEDED)
    request = scene.waiting(cast.workspace, agent)
    decided = scene.waiting(cast.workspace, agent)
    cast.client("manager").post(
        f"/approvals/{decided.id}/decide/",
        {"verdict": "approve", "proposal_hash": decided.proposal_hash},
    )
    first = queries.checkpoint_by_number(work.thread, 1)
    return {
        "done": str(work.thread),
        "child": str(store.fork(work.thread, checkpoint=first.id, changes={}, actor="user:1")),
        "request": str(request.id),
        "decided": str(decided.id),
        "incident": str(make_incident(cast.workspace)),
    }


def rest(page: Page, line: ClientConnection) -> None:
    """Read until nothing comes any more."""
    with suppress(TimeoutError):
        while True:
            page.take(line.recv(QUIET_SECONDS))


def loaded(live: LiveThread, address: str, *, inflates: bool = True) -> Page:
    """A page that is loaded, whose socket has brought what it brings at rest."""
    page = Page(live, "operator", address)
    with live.server.open(page.key) as line:
        line.send(page.join(inflates=inflates))
        rest(page, line)
    return page


@pytest.mark.slow
@pytest.mark.requirement("F15")
@pytest.mark.parametrize("what", ADDRESSES)
def test_a_page_is_sent_once(live: LiveThread, ids: dict[str, str], what: str) -> None:
    """The first socket lets the hub look, the second gets the same look, a third is plain."""
    address = ADDRESSES[what].format(**ids)
    page = Page(live, "operator", address)
    assert page.html.count("data-mark=") > 1, "regions bring their marks"
    with live.server.open(page.key) as line:
        line.send(page.join(inflates=True))
        rest(page, line)
        for other in (loaded(live, address), loaded(live, address, inflates=False), page):
            assert (other.socket_bytes, other.regions) == (0, {})


@pytest.mark.slow
@pytest.mark.parametrize("is_followed", [False, True])
def test_a_change_between_page_and_socket_is_sent(live: LiveThread, is_followed: bool) -> None:
    """Also one that is no event of the thread; only the regions that it changes."""
    scene.step(scene.lease(live.thread), leave_by=EventKind.THREAD_PAUSED)
    address = f"/threads/{live.thread}/"
    with live.follow("operator" if is_followed else "viewer"):
        page = Page(live, "operator", address)
        answer = live.cast.client("manager").post(
            f"{address}fork/?checkpoint=1", {"title": "The other way"}
        )
        assert answer.status_code == 303
        with live.server.open(page.key) as line:
            line.send(page.join(inflates=True))
            rest(page, line)
    assert "The other way" in page.regions["thread-forks"]
    assert page.regions.keys() <= {"thread-forks", "thread-lineage", "thread-time"}


@pytest.mark.slow
def test_a_page_that_is_newer_than_the_hub_is_not_set_back(
    live: LiveThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint was lost, and no number tells which of the two is newer: the hub looks again."""
    scene.step(scene.lease(live.thread), leave_by=EventKind.THREAD_PAUSED)
    address = f"/threads/{live.thread}/"
    first = Page(live, "operator", address)
    with live.server.open(first.key) as line:
        line.send(first.join(inflates=True))
        rest(first, line)
        monkeypatch.setattr(hints, "publish", lambda *texts: None)
        row = queries.checkpoint_by_number(live.thread, 1)
        store.fork(
            live.thread, checkpoint=row.id, changes={}, title="The other way", actor="user:1"
        )
        second = loaded(live, address)
        assert "The other way" in second.html
        assert second.regions == {}
        rest(first, line)
    assert "The other way" in first.regions["thread-forks"]


@pytest.mark.slow
def test_pages_of_lists_are_told_what_they_miss(live: LiveThread, ids: dict[str, str]) -> None:
    """Each page was loaded before; one that fetches its list itself gets word of it."""
    pages = {name: Page(live, "operator", ADDRESSES[name].format(**ids)) for name in ADDRESSES}
    scene.waiting(live.cast.workspace, live.agent)
    TAKE.run(live.cast.actor("operator"), Nothing(), UUID(ids["incident"]))
    for page in pages.values():
        with live.server.open(page.key) as line:
            line.send(page.join(inflates=True))
            rest(page, line)
    sent = {name: set(page.regions) for name, page in pages.items()}
    assert {"board-counts", "board-lanes", "board-feed", "nav-approvals"} <= sent["board"]
    assert {"board-feed", "nav-approvals"} <= sent["narrowed"]
    assert sent["inbox"] == {"inbox-list", "nav-approvals"}
    assert sent["mine"] == sent["form"] == sent["thread"] == {"nav-approvals"}
    assert {"incidents-list", "nav-approvals"} <= sent["incidents"]
    assert {"incident-facts", "nav-approvals"} <= sent["incident"]
    assert "board-lanes" not in sent["narrowed"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["board", "thread"])
def test_no_change_falls_between_page_and_socket(live: LiveThread, what: str) -> None:
    """Somebody renames a thread all the time; each page that is loaded ends with the last title."""
    address = "/" if what == "board" else f"/threads/{live.thread}/"
    stop, titles = threading.Event(), [""]

    def rename() -> None:
        while not stop.is_set():
            title = f"Title {len(titles)} of {live.thread.hex[-6:]}"
            store.rename(live.thread, title=title, actor="user:1")
            titles.append(title)
            time.sleep(0.02)
        connections.close_all()

    changes, lines = threading.Thread(target=rename), []
    region = "board-lanes" if what == "board" else "thread-head"
    with ExitStack() as opened:
        changes.start()
        try:
            for turn in range(25):
                page = Page(live, "operator", address)
                line = opened.enter_context(live.server.open(page.key))
                lines.append((page, line))
                time.sleep(0.004 * (turn % 8))
                line.send(page.join(inflates=turn % 2 == 0))
        finally:
            stop.set()
            changes.join()
        for page, line in lines:
            rest(page, line)
    shown = [titles[-1] in page.regions.get(region, page.html) for page, _ in lines]
    assert len(titles) > 25, "nothing was changed meanwhile"
    assert all(shown), shown


@pytest.mark.slow
def test_the_mark_of_a_page_counts_for_its_own_number(live: LiveThread) -> None:
    """After a frame the number is another, and what the page fetches may have changed since."""
    page = Page(live, "operator", "/?q=delays")
    message = json.loads(page.join(inflates=False))
    made = re.search(r'data-mark="(\d+):', page.html)
    assert made is not None
    assert message["topics"]["board"] == int(made[1])
    for moved, frames in ((0, 0), (-1, 1)):
        other = Page(live, "operator", "/?q=delays")
        message = json.loads(other.join(inflates=False))
        message["topics"]["board"] += moved
        with live.server.open(other.key) as line:
            line.send(json.dumps(message))
            rest(other, line)
        assert (other.frames, other.regions) == (frames, {})
