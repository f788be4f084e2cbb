"""What a worker asks the database while there is nothing to do."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.notify.sender import Sender
from tests.support.cast import Cast
from workers.slot.sweep import sweep_once

# They may only fall. Each is asked every two seconds.
STATEMENTS_OF_A_SWEEP = 20


def test_a_sweep_with_nothing_due_asks_one_question_a_part(cast: Cast) -> None:
    sweep_once(owner="worker:1")  # what is looked at every few seconds only
    with CaptureQueriesContext(connection) as captured:
        assert not any(sweep_once(owner="worker:1").values())
    statements = [query["sql"] for query in captured]
    assert 10 < len(statements) <= STATEMENTS_OF_A_SWEEP, "\n".join(statements)
    assert not any("SAVEPOINT" in sql for sql in statements)


def test_a_sender_with_nothing_to_send_opens_no_transaction(cast: Cast) -> None:
    sender = Sender()
    with CaptureQueriesContext(connection) as captured:
        assert sender.turn() == 0
    assert [query["sql"].split()[0] for query in captured] == ["SELECT", "SELECT"]
