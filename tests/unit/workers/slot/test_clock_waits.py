"""The database's clock steps back: what waits ends with its own term, not with the old time.

A step is made by moving what was written before it into the future, as it then looks.
"""

from __future__ import annotations

import time
from uuid import UUID

import pytest
from django.db import connection

from approvals import gates
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from checkpoints import queries, store
from checkpoints.chain import verify_thread as verify
from checkpoints.states import EventKind
from tests.unit.approvals.cast import MIRA, now, open_request, say, two
from tests.unit.checkpoints.builders import drive, make_thread, make_workspace, one, rows, status_of

from .test_clock import HOUR


def sleeping(seconds: float) -> UUID:
    work = drive(make_thread(), 1).work
    store.leave(work, EventKind.THREAD_SLEPT, wake_at_seconds=seconds)
    return work.thread


@pytest.mark.nightly
@pytest.mark.parametrize("by", [12.0, HOUR, 30 * 86_400.0])
def test_a_thread_that_sleeps_wakes_within_its_own_term(real_db: str, by: float) -> None:
    threads = [sleeping(1.0), sleeping(60.0)]
    shift = f"interval '{by} seconds'"
    rows(f"UPDATE gp_thread SET wake_at = wake_at + {shift}, status_since = status_since + {shift}")
    assert store.bring_back_sleepers() == 2
    assert store.bring_back_sleepers() == 0, "once: the term counts from then"
    left = "SELECT extract(epoch FROM wake_at - clock_timestamp())::float8 FROM gp_thread "
    assert one(left + "WHERE id = %s", (threads[1],)) == pytest.approx(60, abs=1)
    time.sleep(1.1)
    assert store.wake_sleepers(owner="worker:1") == 1
    assert [status_of(t) for t in threads] == ["queued", "sleeping"]
    assert all(verify(t).intact for t in threads)


def test_a_thread_that_sleeps_long_is_left_alone(real_db: str) -> None:
    sleeping(30 * 86_400.0)
    assert store.bring_back_sleepers() == 0


def test_an_undo_is_tried_again_at_once_where_its_pause_lies_ahead(real_db: str) -> None:
    thread = sleeping(60.0)
    rows(
        "UPDATE gp_thread SET status = 'rolling_back', wake_at = wake_at + interval '1 h', "
        "last_at = last_at + interval '1 h', lease_token = NULL"
    )
    assert store.bring_back_sleepers() == 1
    assert one("SELECT wake_at <= clock_timestamp() FROM gp_thread WHERE id = %s", (thread,))


def held_and_due(*, shift: str) -> list[ApprovalRow]:
    """A decision that can be taken back and a request with a deadline, of before a step."""
    held = open_request(Terms(undo_window=60))
    say(held, MIRA)
    due = open_request(two(), expires_in=60.0)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            f"UPDATE gp_approval SET decided_at = decided_at + {shift}, "
            f"effective_at = effective_at + {shift}, deadline = deadline + {shift}, "
            f"requested_at = requested_at + {shift}"
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    return [held, due]


def test_decisions_count_and_requests_expire_though_their_time_lies_ahead(real_db: str) -> None:
    held, due = held_and_due(shift="interval '1 h'")
    assert (gates.settle_due(), gates.expire_due()) == (0, 0)
    store.note_clock_step(-HOUR, by="worker:1")
    assert (gates.settle_due(), gates.expire_due()) == (0, 0), "its own term counts from the step"
    rows("UPDATE gp_clock_step SET at = at - interval '61 s'")
    assert (gates.settle_due(), gates.expire_due()) == (1, 1)
    assert (now(held).status, now(due).status) == ("settled", "expired")


def test_what_was_decided_after_a_step_waits_for_its_time(real_db: str) -> None:
    store.note_clock_step(-HOUR, by="worker:1")
    held = open_request(Terms(undo_window=60))
    say(held, MIRA)
    open_request(two(), expires_in=60.0)
    rows("UPDATE gp_clock_step SET at = at - interval '2 h'")
    assert (gates.settle_due(), gates.expire_due()) == (0, 0)


def test_a_step_that_is_noticed_takes_pauses_along(real_db: str) -> None:
    workspace = make_workspace()
    store.hold_off(workspace, "bank", seconds=HOUR + 5, text="later")
    store.note_clock_step(-HOUR, by="worker:1")
    left = queries.held_off(workspace, "bank")
    assert left is not None
    assert left[0] == pytest.approx(5, abs=1)
