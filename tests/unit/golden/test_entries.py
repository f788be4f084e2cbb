"""Threads that older code left behind, through the entry points: pages, and a worker of today."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from approvals import queries as approval_queries
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.identity.permissions import Actor
from tests.faults.bench import wait_until
from tests.support import decisions
from tests.support.cast import Cast, make_cast
from tests.support.reviewers import reviewer_in
from tests.support.site import started_site
from tests.unit.checkpoints.builders import one

from . import rows
from .rows import History, histories
from .test_golden import CODE

pytestmark = pytest.mark.requirement("B39")

OLD = [h for h in histories() if h.version < CODE and h.story == "at-the-gate"]


def place_of(thread: UUID) -> UUID:
    found: UUID = one("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", [thread])
    return found


def ended(thread: UUID) -> ThreadRow | None:
    """The row of a thread that no worker will touch any more."""
    row = queries.thread(thread, workspace=place_of(thread))
    moving = (Status.WAITING, Status.QUEUED, Status.RUNNING)
    return None if row.status in moving else row


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("story", ["at-the-gate", "failed", "finished"])
@pytest.mark.parametrize("version", range(1, CODE + 1))
def test_pages_show_an_old_thread_in_its_own_form(version: int, story: str, cast: Cast) -> None:
    thread = rows.load(History(version, story))
    store.grant(place_of(thread), cast.users["nobody"].pk, "operator", actor="user:0")
    client = cast.client("nobody")
    page = client.get(f"/threads/{thread}/?tab=state")
    assert page.status_code == 200
    assert "weight" in page.content.decode()
    point = queries.thread(thread, workspace=place_of(thread)).head
    pages = [f"fork/?checkpoint={point}"]
    pages += ["edit/"] if story != "finished" else []
    channel = "ignore_columns" if version == 1 else "ignore"
    for name in pages:
        answer = client.get(f"/threads/{thread}/{name}")
        assert answer.status_code == 200, name
        assert f'name="f-{channel}"' in answer.content.decode(), name
    for approval in approval_queries.for_thread(thread):
        assert client.get(f"/approvals/{approval.id}/").status_code == 200
    state = client.get(f"/api/v1/threads/{thread}/state/").json()
    assert state["state"][channel] == ["weight"]


@pytest.mark.slow
def test_a_worker_of_today_takes_what_older_code_asked(real_db: str, tmp_path: Path) -> None:
    make_cast()
    threads = [rows.load(history) for history in OLD]
    with started_site(GATEPOST_PUBLISHED=str(tmp_path), GATEPOST_SHIPPED_AGENTS="true"):
        for thread in threads:
            place = place_of(thread)
            reviewer_in(place)  # the right to decide is looked at again by the worker
            (asked,) = approval_queries.for_thread(thread, open_only=True)
            decisions.decide(
                Actor(2, "manager", place, "golden", frozenset({"reviewer"})),
                asked.id,
                "approve",
                asked.proposal_hash,
            )
            row = wait_until(partial(ended, thread), what=partial(ended, thread))
            assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
            assert verify(thread).intact
    assert len(list(tmp_path.iterdir())) == len(threads)
