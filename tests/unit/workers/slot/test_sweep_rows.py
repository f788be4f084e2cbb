"""One due row that is locked, or whose handling raises, keeps no other waiting, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from approvals.notify import sender
from approvals.rules.terms import Terms
from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.postgres import guarded_rows
from checkpoints.queries.installation import figures
from checkpoints.states import EventKind
from checkpoints.store.tree import reach
from tests.support.cast import make_cast
from tests.support.logs import logs_of
from tests.unit.approvals import news
from tests.unit.approvals.cast import MIRA, open_request, say
from tests.unit.checkpoints.builders import (
    acquired,
    drive,
    expire,
    kinds_of,
    make_thread,
    new_activity,
    rows,
)
from workers.slot import sweep

TEN = 10
type Due = tuple[UUID, UUID]
"""(the row, its thread)"""


@dataclass(frozen=True)
class Kind:
    """A part of the sweep: how its rows come about, and how often a row was handled."""

    part: str
    make: Callable[[], Due]
    handled: Callable[[Due], int]
    refused: tuple[str, str] = ("gp_thread", "id")  # (table, column) whose write fails


def _sleeper() -> Due:
    thread = make_thread()
    store.leave(acquired(thread), EventKind.THREAD_SLEPT, wake_at_seconds=0)
    return thread, thread


def _looping() -> Due:
    thread = make_thread()
    acquired(thread)
    for _ in range(2):
        expire(thread)
        assert leases.take_over(thread, owner="worker:2") is not None
    expire(thread)
    return thread, thread


def _held() -> Due:
    row = open_request(Terms(undo_window=60))
    say(row, MIRA)
    rows("UPDATE gp_approval SET effective_at = clock_timestamp() WHERE id = %s::uuid", [row.id])
    return row.id, row.thread


def _late(**terms: Any) -> Callable[[], Due]:
    def make() -> Due:
        row = open_request(Terms(**terms), expires_in=3600.0)
        rows("UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = %s::uuid", [row.id])
        return row.id, row.thread

    return make


def _unreminded() -> Due:
    row = open_request(Terms(reminders=(0.001,)), expires_in=3600.0)
    return row.id, row.thread


def _unreceived() -> Due:
    """A parent that has not received what its child said: whoever brought it was lost."""
    sender, parent = drive(make_thread()), make_thread()
    activity = new_activity(sender.work, "tell#0", args={"message": "one"})
    with patch("checkpoints.store.tree.messages.deliver_messages"):
        store.send_message(sender.work, activity, to=parent, result=None)
    rows("UPDATE gp_wake SET due_at = clock_timestamp() - interval '1 minute' RETURNING 1")
    return parent, parent


def _to_pause() -> Due:
    thread = make_thread()
    reach.reach_one(thread, "pause", actor="user:1")
    return thread, thread


def _uncounted() -> Due:
    row = open_request(Terms())
    rows("UPDATE gp_approval SET tally = NULL WHERE id = %s::uuid", [row.id])
    return row.id, row.thread


def _is_counted(due: Due) -> int:
    return int(
        rows("SELECT (tally IS NOT NULL)::int FROM gp_approval WHERE id = %s", due[:1])[0][0]
    )


def _event(kind: str) -> Callable[[Due], int]:
    return lambda due: kinds_of(due[1]).count(kind)


KINDS = [
    Kind("woken", _sleeper, _event("thread.woken")),
    Kind("parked", _looping, _event("thread.parked")),
    Kind("settled", _held, _event("approval.settled")),
    Kind("expired", _late(), _event("approval.expired")),
    Kind("expired", _late(on_expiry="reject"), _event("approval.decided")),
    Kind("expired", _late(on_expiry="escalate"), _event("approval.escalated")),
    Kind("reminded", _unreminded, _event("approval.reminded")),
    Kind("children", _unreceived, _event("input.received")),
    Kind("reached", _to_pause, _event("thread.paused")),
    Kind("counted", _uncounted, _is_counted, ("gp_approval", "thread_id")),
]


@contextmanager
def locked(table: str, row: UUID | str, key: str = "id") -> Iterator[None]:
    """Somebody else holds the row and does not let go: a frozen process.

    What has no limit of its own waits for the row until its statement is cancelled.
    """
    rows("SET lock_timeout = 0")
    at = connection.get_connection_params()
    known = {name: at[name] for name in ("dbname", "user", "host", "port") if name in at}
    with psycopg.connect(**known) as other:
        other.execute(f"SELECT 1 FROM {table} WHERE {key} = %s FOR UPDATE", [row])
        yield
        other.rollback()
    rows("RESET lock_timeout")


@contextmanager
def refusing(table: str, when: str, row: UUID) -> Iterator[None]:
    """Whatever is written to this row fails."""
    rows(
        "CREATE FUNCTION refuse_this() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a row that nobody foresaw'; END $$"
    )
    rows(
        f"CREATE TRIGGER refuse_this BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW "
        f"WHEN (NEW.{when} = '{row}') EXECUTE FUNCTION refuse_this()"
    )
    try:
        yield
    finally:
        rows(f"DROP TRIGGER refuse_this ON {table}")
        rows("DROP FUNCTION refuse_this")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.part}-{kind.make.__name__}")
def test_eight_rows_go_on_beside_a_locked_and_a_failing_one(
    real_db: str, settings: Any, kind: Kind
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # PostgreSQL has been up for one lease
    due = [kind.make() for _ in range(TEN)]
    held, failing = due[0], due[1]
    with refusing(*kind.refused, failing[1]), locked("gp_thread", held[1]):
        first = sweep.sweep_once(owner="worker:1")
        aside = queries.rows_set_aside()
        assert [(a.part, a.row, a.thread, a.attempts) for a in aside] == [(kind.part, *failing, 1)]
        assert "a row that nobody foresaw" in aside[0].error
        assert aside[0].again_in <= 2
        # On a busy machine its pause would be over before the second sweep.
        rows("UPDATE gp_set_aside SET next_at = clock_timestamp() + interval '1 minute'")
        sweep.sweep_once(owner="worker:2")
        assert [kind.handled(one) for one in due] == [0, 0] + [1] * (TEN - 2)
        assert first[kind.part] == TEN - 2
        assert queries.rows_set_aside()[0].attempts == 1
        assert figures.figures().rows_set_aside == 1
    # The lock is gone: at once. The failing one: when its pause is over.
    sweep.sweep_once(owner="worker:1")
    assert [kind.handled(one) for one in due] == [1, 0] + [1] * (TEN - 2)
    rows("UPDATE gp_set_aside SET next_at = clock_timestamp()")
    sweep.sweep_once(owner="worker:1")
    assert [kind.handled(one) for one in due] == [1] * TEN
    assert queries.rows_set_aside() == []
    for _, thread in due:
        assert verify_thread(thread).intact


def test_news_go_on_beside_a_locked_and_a_failing_one(real_db: str, settings: Any) -> None:
    settings.GATEPOST_WEBHOOK_HTTP = True
    settings.GATEPOST_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.GATEPOST_WEBHOOK_PORTS = [0]
    cast = make_cast()
    endpoint = news.endpoint(cast, "webhook", "http://127.0.0.1:9/", events=["approval.requested"])
    about = news.open_request(cast)
    messages = [news.tell(about) for _ in range(TEN)]
    with refusing("gp_delivery", "news_id", messages[1]), locked("gp_outbox", messages[0]):
        assert sender.fan_out.spread() == TEN - 2
        assert sender.fan_out.spread() == 0
        assert [(a.part, a.row) for a in queries.rows_set_aside()] == [("news", messages[1])]
    assert len(news.states(endpoint, cast)) == TEN - 2
    assert sender.fan_out.spread() == 1
    rows("UPDATE gp_set_aside SET next_at = clock_timestamp()")
    assert sender.fan_out.spread() == 1
    assert len(news.states(endpoint, cast)) == TEN


def test_no_doorbell_is_rung_for_a_locked_thread(real_db: str) -> None:
    """A slot that took it would wait for the lock and serve nobody else."""
    threads = [make_thread() for _ in range(TEN)]
    for thread in threads:
        acquired(thread)
        expire(thread)
    with locked("gp_thread", threads[0]):
        rung = {thread for thread, _ in store.stranded_threads(queued_for_seconds=60)}
    assert rung == set(threads[1:])


def test_the_sweep_goes_on_though_its_duty_is_locked(real_db: str) -> None:
    assert store.claim_duty("sweep", owner="worker:frozen", seconds=60)
    assert not store.claim_duty("sweep", owner="worker:1", seconds=60)
    with locked("gp_duty", "sweep", key="name"):
        assert store.claim_duty("sweep", owner="worker:1", seconds=60)
    assert not store.claim_duty("sweep", owner="worker:1", seconds=60)


def test_a_row_that_fails_again_waits_longer_each_time(real_db: str) -> None:
    due = _sleeper()
    with refusing("gp_thread", "id", due[1]), logs_of(guarded_rows) as logged:
        for _ in range(10):
            sweep.sweep_once(owner="worker:1")
            [aside] = queries.rows_set_aside()
            rows("UPDATE gp_set_aside SET next_at = clock_timestamp()")
    pauses = [line["again_in"] for line in logged if line["event"] == "sweep.row_set_aside"]
    assert aside.again_in == pytest.approx(pauses[-1], abs=10)
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    # What came right in another way is forgotten.
    store.cancel(due[1], actor="user:1", reason="")
    rows("UPDATE gp_set_aside SET next_at = clock_timestamp() - interval '1 hour'")
    assert sweep.sweep_once(owner="worker:1")["forgotten"] == 1
    assert queries.rows_set_aside() == []
