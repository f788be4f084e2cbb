"""What a worker asks the database while there is nothing to do."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.ephemeral import copies
from dashboard.wire.valkey import client
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import make_thread, rows
from tests.unit.workers.slot.test_sweep_rows import KINDS, Kind
from workers.slot.sweep import PARTS_EVERY, TURNS_TO_REST, Rest, sweep_once

# They may only fall. Each is asked every two seconds. Two are of parts that nothing else can tell:
# whether an event is not in the index of the history yet, and which memories have expired.
STATEMENTS_OF_A_SWEEP = 22


@pytest.fixture(autouse=True)
def no_messages(hot_store: redis.Redis) -> None:
    """No message or utterance of another test's thread waits: databases end, Valkey goes on."""
    with client(settings.REDIS_URL) as valkey:
        valkey.delete(copies.WAITING)


def test_a_sweep_with_nothing_due_asks_one_question_a_part(cast: Cast) -> None:
    sweep_once(owner="worker:1")  # what is looked at every few seconds only
    with CaptureQueriesContext(connection) as captured:
        assert not any(sweep_once(owner="worker:1").values())
    statements = [query["sql"] for query in captured]
    assert 10 < len(statements) <= STATEMENTS_OF_A_SWEEP, "\n".join(statements)
    assert not any("SAVEPOINT" in sql for sql in statements)


def at_rest() -> Rest:
    """A sweeper that found nothing due for so long that it leaves most turns out."""
    rest = Rest()
    assert [rest.turn() for _ in range(TURNS_TO_REST)] == [False] * TURNS_TO_REST
    assert [rest.turn() for _ in range(2 * PARTS_EVERY)].count(True) == 2 * (PARTS_EVERY - 1)
    return rest


def test_a_turn_at_rest_asks_two_questions(cast: Cast) -> None:
    rest = at_rest()
    with CaptureQueriesContext(connection) as captured:
        rest.turn()
    assert [query["sql"].split()[0] for query in captured] == ["SELECT", "SELECT"]


# A reminder may come at the next turn that asks all parts.
@pytest.mark.parametrize("kind", [k for k in KINDS if k.part != "reminded"], ids=lambda k: k.part)
def test_what_comes_due_ends_the_rest(cast: Cast, settings: Any, kind: Kind) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    rest = at_rest()
    due = kind.make()
    if kind.part != "parked":  # nothing else that is looked at; no thread may go there by itself
        rows("SET session_replication_role = 'replica'")
        rows("UPDATE gp_thread SET status = 'waiting' WHERE status IN ('queued', 'running')")
        rows("SET session_replication_role = 'origin'")
    assert not rest.turn()
    assert sweep_once(owner="worker:1")[kind.part] == 1
    assert kind.handled(due) == 1


def test_an_approved_erasure_ends_the_rest(cast: Cast) -> None:
    rest = at_rest()
    thread = make_thread(workspace=cast.workspace)
    store.cancel(thread, actor="user:1", reason="")
    words = {"scope": "thread", "reason": "consent", "actor": "user:1", "name": "Olga"}
    erasure = store.request_erasure(thread, workspace=cast.workspace, **words)
    store.decide_erasure(
        erasure.id, workspace=cast.workspace, approve=True, actor="user:2", name="Adam", comment=""
    )
    assert not rest.turn()
    assert sweep_once(owner="worker:1")["erased"] == 1


def test_a_sweeper_never_rests_after_the_clock_stepped_back(cast: Cast) -> None:
    rest = at_rest()
    store.note_clock_step(-5.0, by="worker:1")
    assert [rest.turn() for _ in range(2 * TURNS_TO_REST)] == [False] * (2 * TURNS_TO_REST)


def test_a_queued_thread_ends_the_rest(cast: Cast) -> None:
    rest = at_rest()
    thread = make_thread()
    assert not rest.turn()
    store.cancel(thread, actor="user:1", reason="")
    assert not rest.turn(), "it begins anew"


def test_a_sender_with_nothing_to_send_opens_no_transaction(cast: Cast) -> None:
    sender = Sender()
    with CaptureQueriesContext(connection) as captured:
        assert sender.turn() == 0
    assert [query["sql"].split()[0] for query in captured] == ["SELECT", "SELECT"]
