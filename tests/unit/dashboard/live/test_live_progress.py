"""Progress and the text of a model, which go straight to open pages."""

from __future__ import annotations

import time

import pytest

from checkpoints.signals import activity_progressed
from dashboard.wire import hints
from dashboard.wire.progress import publish_progress, read_progress
from tests.unit.dashboard import scene

from .following import LATE, LiveThread
from .following import house as house
from .following import live as live


@pytest.mark.slow
def test_progress_goes_straight_through(live: LiveThread) -> None:
    with live.follow("viewer") as page:
        page.frame()
        for done in range(1, 26):
            activity_progressed.send_robust(
                sender=None,
                thread_id=live.thread,
                workspace=live.cast.workspace,
                progress={"node": "load", "done": done, "total": 25, "text": "Reading"},
            )
        seen = [page.message("progress") for _ in range(25)]
    assert [m["done"] for m in seen] == list(range(1, 26))
    assert seen[-1] == {
        "type": "progress",
        "topic": live.name,
        "done": 25,
        "total": 25,
        "text": "Reading",
    }
    newest = read_progress([live.thread])[live.thread]
    assert newest == {"done": 25, "total": 25, "text": "Reading"}
    ttl = hints.client().ttl(f"progress:{live.thread}")
    assert 50 < ttl <= 60


@pytest.mark.slow
@pytest.mark.requirement("E09")
def test_what_a_model_has_said_so_far_goes_straight_through(live: LiveThread) -> None:
    def push_tokens(text: str) -> None:
        activity_progressed.send_robust(
            sender=None,
            thread_id=live.thread,
            workspace=live.cast.workspace,
            progress={"node": "load", "done": None, "total": None, "text": "", "stream": text},
        )

    scene.lease(live.thread)
    client = live.cast.client("viewer")
    with live.follow("viewer") as page:
        page.frame()
        push_tokens("One")
        push_tokens("One two <b>\u202e")
        seen = [page.message("progress") for _ in range(2)]
        assert [(m["node"], m["stream"]) for m in seen] == [
            ("load", "One"),
            ("load", "One two <b>\u202e"),
        ]
        # Who opens the page now sees it too, and afterwards nobody does.
        shown = client.get(f"/threads/{live.thread}/").content.decode()
        assert "One two &lt;b&gt;" in shown
        push_tokens("")
        assert page.message("progress")["stream"] == ""
    assert read_progress([live.thread]) == {}
    assert "One two" not in client.get(f"/threads/{live.thread}/").content.decode()


def test_pages_show_the_newest_progress_at_once(live: LiveThread) -> None:
    scene.lease(live.thread)
    client, html = live.cast.client("viewer"), ""
    # On a busy machine Valkey may take longer than a page or a commit waits for it.
    limit = time.monotonic() + LATE
    while "5 of 9" not in html and time.monotonic() < limit:
        report = {"done": 5, "total": 9, "text": "Rows"}
        publish_progress(live.thread, live.cast.workspace, report)
        html = client.get(f"/threads/{live.thread}/").content.decode()
    assert "5 of 9" in html
