"""A failed thread's page shows the complete internal state at the failure."""

from __future__ import annotations

import html as escapes
import json
import re
from typing import Any

import pytest

from checkpoints import queries, store
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
FINDINGS = [f"finding {n}" for n in range(250)]  # more than a tree shows at once


def failed(cast: Cast, *, times: int = 1) -> Any:
    """A thread with a state, a recorded call of the step in progress, and a failed node."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft", findings=FINDINGS)
    scene.effect(work)
    for n in range(times):
        error = f"KeyError: 'delay'\n  line {n} of the trace"
        store.leave(
            work,
            EventKind.THREAD_FAILED,
            reason=f"publish: {error}",
            data={"node": "publish"},
            events=[
                NewEvent(
                    EventKind.STEP_FAILED,
                    {"node": "publish", "step": 2, "error": error},
                    work.owner,
                )
            ],
        )
        if n < times - 1:
            store.retry(work.thread, actor="user:1")
            work = scene.lease(work.thread)
    return work


def failure(html: str) -> str:
    part = html.partition('<section class="card failure"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", part.partition(">")[2]).split())


def test_after_an_edit_nobody_is_told_to_edit(cast: Cast) -> None:
    """Page and API say that the state was edited since, until it fails once more."""
    work = failed(cast)
    client = cast.client("operator")

    def advice() -> str:
        page = client.get(f"/threads/{work.thread}/").content.decode()
        why = client.get(f"/api/v1/threads/{work.thread}/").json()["why_waiting"]["action"]
        assert why in page.replace("&#x27;", "'")
        return str(why)

    assert advice() == "Edit the state where needed, then retry."
    store.edit(work.thread, changes={"report": "mended"}, reason="", actor="user:1")
    assert advice() == "The state was edited since; retry."
    store.retry(work.thread, actor="user:1")
    lease = scene.lease(work.thread)
    store.leave(lease, EventKind.THREAD_FAILED, reason="publish: again", data={"node": "publish"})
    assert advice() == "Edit the state where needed, then retry."


@pytest.mark.requirement("B09")
def test_the_state_the_error_the_node_and_the_attempt_are_shown(cast: Cast) -> None:
    work = failed(cast, times=3)
    client = cast.client("viewer")
    page = client.get(f"/threads/{work.thread}/")
    words = escapes.unescape(failure(page.content.decode()))
    assert "Node publish" in words
    assert "Step 2 after checkpoint #1" in words
    assert "Attempt 3" in words
    note = page.content.decode().partition('id="thread-note"')[2].partition('id="thread-')[0]
    note = " ".join(escapes.unescape(re.sub(r"<[^>]+>", " ", note)).split())
    assert note.count("KeyError: 'delay' line 2 of the trace") == 1, "the error stands there once"
    assert "Done in this step publish recorded" in words

    # Complete: every value of the state, in the page and as a file.
    html = client.get(f"/threads/{work.thread}/?tab=state").content.decode()
    exact = re.search(r'id="exact">.*?<pre[^>]*>(.*?)</pre>', html, re.S)
    assert exact
    shown = json.loads(escapes.unescape(exact[1]))
    state = queries.state_at(work.thread, work.head)
    assert shown == state
    assert len(shown["findings"]) == 250
    link = re.search(r'href="(/api/v1/threads/[^"]*state/[^"]*)"', html)
    assert link
    assert client.get(escapes.unescape(link[1])).json()["state"] == state


def test_a_large_state_is_offered_as_a_file(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="x" * 30_000)
    store.leave(work, EventKind.THREAD_FAILED, reason="too large")
    html = cast.client("viewer").get(f"/threads/{work.thread}/?tab=state").content.decode()
    assert "<pre" not in html.partition('id="exact"')[2].partition("</details>")[0]
    assert "Whole state as JSON" in html
    assert "between nodes" in failure(html)


def test_only_a_failed_thread_at_its_head_has_a_failure(cast: Cast) -> None:
    work = failed(cast)
    client = cast.client("viewer")
    past = client.get(f"/threads/{work.thread}/?cp=0").content.decode()
    assert not failure(past)
    store.retry(work.thread, actor="user:1")
    assert not failure(client.get(f"/threads/{work.thread}/").content.decode())
