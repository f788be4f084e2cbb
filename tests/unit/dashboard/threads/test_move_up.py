"""Moving a queued thread up: its page, its preview, who may, what is on record."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from workers.external.announcement import Announcement

pytestmark = pytest.mark.django_db
REASON = "A customer waits."


@pytest.fixture
def queued(cast: Cast, agent: UUID) -> list[UUID]:
    """Three threads that a live worker could take, and have waited for a while."""
    scene.alive(agent)
    threads = [scene.start(cast.workspace, agent) for _ in range(3)]
    rows("UPDATE gp_thread SET status_since = status_since - interval '1 minute'")
    return threads


def why(cast: Cast, thread: UUID) -> Any:
    return cast.client("operator").get(f"/api/v1/threads/{thread}/").json()["why_waiting"]


def test_the_page_says_what_is_before_it_and_leads_to_the_dialog(
    cast: Cast, queued: list[UUID]
) -> None:
    first, _, last = queued
    page = f"/threads/{last}/"
    shown = cast.client("operator").get(page).content.decode()
    assert "behind 2 threads of this workspace in the queue gatepost" in shown
    assert f'href="{page}move_up/"' in shown
    # The first one has nobody to pass; an auditor reads the same and changes nothing.
    assert "move_up/" not in cast.client("operator").get(f"/threads/{first}/").content.decode()
    audited = cast.client("auditor").get(page).content.decode()
    assert "behind 2 threads" in audited
    assert "move_up/" not in audited

    dialog = cast.client("operator").get(f"{page}move_up/").content.decode()
    assert '<b class="num">2</b> threads of this workspace' in dialog
    version = queries.thread(last, workspace=cast.workspace).version
    form = {"reason": REASON, "version": version, "seen": "{}"}
    answer = cast.client("operator").post(f"{page}move_up/", form)
    assert (answer.status_code, answer["Location"]) == (303, page)
    assert why(cast, last)["facts"]["before"] == 0
    assert why(cast, first)["facts"]["before"] == 1
    event = queries.events(last, kinds=["thread.moved_up"], limit=5).rows[-1]
    assert (event.data, event.actor) == ({"reason": REASON}, cast.actor("operator").id)


def test_a_preview_moves_nothing(cast: Cast, queued: list[UUID]) -> None:
    call = f"/api/v1/threads/{queued[-1]}/move_up/"
    client = cast.client("operator")
    body = {"data": {"reason": REASON}, "content_type": "application/json"}
    plan = client.post(f"{call}?preview=1", **body).json()
    assert plan == {"queue": "gatepost", "passes": 2, "turns": 0, "workspaces": 0}
    assert why(cast, queued[-1])["facts"]["before"] == 2
    assert cast.client("auditor").post(call, **body).status_code == 403
    assert client.post(call, **body).json()["why_waiting"]["facts"]["before"] == 0


def test_what_is_in_no_queue_of_ours_is_refused(cast: Cast, queued: list[UUID]) -> None:
    client = cast.client("operator")
    body = {"data": {"reason": REASON}, "content_type": "application/json"}
    store.pause(queued[0], actor="user:1")
    made = Announcement(framework="python", tools={"mail": {}})
    outside, _ = start_or_continue(
        cast.actor("operator"), agent="elsewhere", input={"n": 1}, external=made
    )
    for thread, text in ((queued[0], "while the thread is paused"), (outside, "works elsewhere")):
        for preview in ("", "?preview=1"):
            answer = client.post(f"/api/v1/threads/{thread}/move_up/{preview}", **body)
            assert answer.status_code == 409
            assert text in answer.json()["detail"]
        kinds = [event.kind for event in queries.events(thread, limit=50).rows]
        assert EventKind.THREAD_MOVED_UP not in kinds
