"""Rolling back a thread that works elsewhere: its head moves at once, and durably."""

from __future__ import annotations

from django.db import connection

from checkpoints import queries
from checkpoints.states import Status
from dashboard.external import saved_states
from dashboard.threads.roll_back import roll_back
from tests.support.cast import Cast


def test_the_head_moves_at_once_and_the_commit_waits_for_the_flush(cast: Cast) -> None:
    """With an idempotency key all of it is one transaction, so no part may turn the wait off."""
    operator = cast.actor("operator")
    first = saved_states.save_state(operator, "x", {"turn": 1})
    thread = saved_states.save_state(operator, "x", {"turn": 2}).thread
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")
        roll_back(operator, thread, first.id, "the second turn was wrong")
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
    row = queries.thread(thread, workspace=cast.workspace)
    assert row.status is Status.PAUSED
    assert queries.state_at(thread, row.head) == {"turn": 1}
