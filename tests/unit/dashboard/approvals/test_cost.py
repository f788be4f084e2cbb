"""What a decision asks of the database: a statement each to read, to swap and to tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import queries
from checkpoints import queries as threads
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def statements_of(act: Callable[[], Any]) -> list[str]:
    """The statements without those that only mark where a transaction begins and ends."""
    with CaptureQueriesContext(connection) as queries:
        act()
    texts = [" ".join(one["sql"].split()) for one in queries.captured_queries]
    return [text for text in texts if "SAVEPOINT" not in text]


def the_same(read: str, swapped: str, announced: str) -> None:
    assert read.endswith("FOR UPDATE OF th")
    assert "UPDATE gp_approval" in swapped
    assert "INTO gp_decision" in swapped
    assert all(f"INTO {table} " in announced for table in ("gp_outbox", "gp_event"))


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_verdict_costs_three_and_who_gives_it_one(cast: Cast, verdict: str) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    hash_, why = row.standing_hash, "" if verdict == "approve" else "no"
    act = partial(decisions.decide, cast.actor("manager"), row.id, verdict, hash_, why)
    who, *others = statements_of(act)
    assert "auth_user" in who
    the_same(*others)
    thread = threads.thread(row.thread, workspace=cast.workspace)
    result = rows(
        "SELECT workspace_id, thread_id, checkpoint_id FROM gp_outbox "
        "WHERE approval_id = %s AND kind = 'approval.decided'",
        (row.id,),
    )
    assert result == [(cast.workspace, row.thread, thread.head)]


def test_over_http_it_is_two_more_for_login_and_person_with_roles(cast: Cast) -> None:
    client, agent = cast.client("manager"), scene.make_agent()
    for _ in range(2):
        row = scene.waiting(cast.workspace, agent)
        act = partial(
            client.post,
            f"/api/v1/approvals/{row.id}/decide/",
            {"verdict": "approve", "proposal_hash": row.standing_hash},
            content_type="application/json",
        )
        *login, read, swapped, payload = statements_of(act)
        assert len(login) == 2
        the_same(read, swapped, payload)
        assert queries.approval(row.id, workspace=row.workspace).outcome == "approve"
