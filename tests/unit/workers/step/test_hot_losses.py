"""The hot store is lost or away: what it had acknowledged is named, and nothing follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost, StaleVersion
from checkpoints.hot import streams
from checkpoints.records import Work
from checkpoints.store import hot_streams, settled_streams
from tests.unit.checkpoints.builders import expire, one, rows
from tests.unit.workers.conftest import Bench
from tests.unit.workers.step.test_hot_ledger import acknowledged, bench_of, taken, worked
from workers.slot import loop
from workers.step.hot_ledger import HotLedger

pytestmark = [pytest.mark.usefixtures("real_db", "hot_store"), pytest.mark.requirement("A31")]


@pytest.fixture
def bench(settings: Any) -> Bench:
    settings.GATEPOST_LEASE_SECONDS = 1.0
    return bench_of("hot")


@pytest.fixture
def away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Take the hot store away, or bring it back."""
    monkeypatch.setattr(streams, "PATIENCE", 0.1)
    present = settings.HOT_URL

    def switch(is_away: bool) -> None:
        settings.HOT_URL = "unix:///nowhere/valkey.sock" if is_away else present

    return switch


def lost(bench: Bench, thread: UUID) -> list[dict[str, Any]]:
    return [dict(e.data) for e in bench.events(thread) if e.kind == "steps.lost"]


def notes() -> int:
    count: int = one("SELECT count(*) FROM gp_hot_stream")
    return count


def killed(bench: Bench, thread: UUID, *, at: int = 37, drained: int = 0) -> HotLedger:
    """Let a worker die at a step, with all before step `drained` in PostgreSQL."""

    def before(work: Work) -> None:
        if work.step == drained:
            store.drain(thread)

    return worked(bench, taken(thread), until=at, before_step=before)


def finish(bench: Bench, thread: UUID) -> None:
    expire(thread)
    worked(bench, taken(thread)).close()
    assert bench.row(thread).status == "succeeded"
    assert bench.state(thread)["n"] == 60
    assert verify_thread(thread).intact
    assert notes() == 0


def test_the_next_owner_names_what_worker_and_hot_store_took_with_them(
    bench: Bench, hot_store: redis.Redis
) -> None:
    thread = bench.start(until=60)
    ledger = killed(bench, thread, drained=20)
    ledger.report()
    reported = acknowledged(thread)
    head = bench.row(thread).number
    assert 10 < head < reported <= 37
    hot_store.flushall()
    finish(bench, thread)
    [data] = lost(bench, thread)
    assert data == {
        "first": head + 1,
        "last": reported,
        "at_least": True,
        "why": settled_streams.GONE,
    }


def test_a_loss_of_which_nothing_was_reported_is_of_unknown_size(
    bench: Bench, hot_store: redis.Redis
) -> None:
    thread = bench.start(until=60)
    killed(bench, thread, drained=20)
    head = bench.row(thread).number
    hot_store.flushall()
    finish(bench, thread)
    [data] = lost(bench, thread)
    assert data == {"first": head + 1, "at_least": True, "why": settled_streams.GONE}


def test_a_stream_that_lacks_its_end_is_named_to_the_last_reported_step(
    bench: Bench, hot_store: redis.Redis
) -> None:
    thread = bench.start(until=60)
    ledger = killed(bench, thread)
    ledger.report()
    reported = acknowledged(thread)
    hot_store.xtrim(f"gatepost:hot:{thread}", maxlen=0)
    finish(bench, thread)
    [data] = lost(bench, thread)
    assert (data["first"], data["last"], data["why"]) == (1, reported, settled_streams.TRUNCATED)


@pytest.mark.parametrize("at", ["note_stream", "_record_missing"])
def test_an_owner_that_is_killed_before_it_recorded_the_loss_leaves_it_to_the_next(
    bench: Bench, hot_store: redis.Redis, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    thread = bench.start(until=60)
    killed(bench, thread).report()
    hot_store.flushall()
    expire(thread)

    def die(*_args: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    module: Any = hot_streams if at == "note_stream" else settled_streams
    with monkeypatch.context() as patch:
        patch.setattr(module, at, die)
        with pytest.raises(KeyboardInterrupt):
            worked(bench, taken(thread))
    assert lost(bench, thread) == []
    finish(bench, thread)
    assert len(lost(bench, thread)) == 1


def test_nothing_is_named_where_nothing_is_lost(bench: Bench) -> None:
    thread = bench.start(until=60)
    killed(bench, thread).report()
    assert notes() == 1
    finish(bench, thread)
    assert lost(bench, thread) == []


def test_a_report_names_the_newest_step_and_comes_from_the_lease_alone(bench: Bench) -> None:
    thread = bench.start(until=60)
    ledger = killed(bench, thread)
    sql = "SELECT number FROM gp_hot_stream WHERE thread_id = %s::uuid"
    assert one(sql, (thread,)) == 0
    ledger.report()
    assert one(sql, (thread,)) == acknowledged(thread) > 20
    rows("UPDATE gp_hot_stream SET token = gen_random_uuid(), number = 3")
    ledger._acknowledged += 1
    ledger.report()
    assert one(sql, (thread,)) == 3


def test_a_thread_is_cancelled_while_the_hot_store_is_away(
    bench: Bench, away: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(until=60)
    ledger = killed(bench, thread, drained=20)
    ledger.report()
    reported, head = acknowledged(thread), bench.row(thread).number
    away(True)
    expire(thread)
    monkeypatch.setattr(loop, "agents", lambda: {bench.agent.graph.name: bench.agent})
    loop.work_on(taken(thread))
    assert bench.row(thread).status == "sleeping"
    with pytest.raises(StaleVersion):
        store.cancel(thread, actor="user:1", expected_version=1)
    assert lost(bench, thread) == []
    store.cancel(thread, actor="user:1")
    row = bench.row(thread)
    assert (row.status, row.number) == ("cancelled", head)
    [data] = lost(bench, thread)
    assert (data["first"], data["last"], data["at_least"]) == (head + 1, reported, True)
    assert data["why"] == settled_streams.UNREACHABLE
    # It comes back with what it had: that is named exactly, and dropped.
    away(False)
    assert streams.lag_of([thread])[thread].entries == reported - head
    assert store.drain_due() == 0
    assert streams.lag_of([thread])[thread].entries == 0
    assert bench.row(thread).number == head
    _, data = lost(bench, thread)
    assert (data["first"], data["last"]) == (head + 1, reported)
    assert "at_least" not in data
    # The former holder may still append: nobody takes it for a step.
    ledger._waiting = [streams_entry(ledger)]
    ledger._append(wait=True)
    assert store.drain_due() == 0
    assert bench.row(thread).number == head
    assert verify_thread(thread).intact


def streams_entry(ledger: HotLedger) -> bytes:
    """The next step of a worker that does not know that it has lost its thread."""
    work = ledger.work
    checkpoint = store.next_checkpoint(
        work, source="step", delta={}, state_hash=bytes(32), state_bytes=2, schema_version=1,
        step=work.step + 1, nodes=["tick"], next_nodes=["tick"], digests=None,
    )  # fmt: skip
    return store.encode_step(work, checkpoint)[0]


def test_a_thread_is_rolled_back_while_the_hot_store_is_away_and_goes_on_later(
    bench: Bench, away: Callable[[bool], None]
) -> None:
    thread = bench.start(until=60)
    killed(bench, thread, drained=20).report()
    reported, head = acknowledged(thread), bench.row(thread).number
    away(True)
    bench.begin_roll_back(thread, 10)
    assert bench.advance(thread).status == "paused"
    assert bench.state(thread)["n"] == 10
    assert [data["last"] for data in lost(bench, thread)] == [reported]
    away(False)
    bench.resume(thread)
    worked(bench, taken(thread)).close()
    assert bench.row(thread).status == "succeeded"
    assert bench.state(thread)["n"] == 60
    first, exact = lost(bench, thread)
    assert first["why"] == settled_streams.UNREACHABLE
    assert (exact["first"], exact["last"]) == (head + 1, reported)
    assert verify_thread(thread).intact
    assert notes() == 0


def test_a_thread_without_buffered_steps_needs_no_hot_store(
    bench: Bench, away: Callable[[bool], None]
) -> None:
    thread = bench.start(until=60, asks_at=40)
    worked(bench, taken(thread)).close()
    assert bench.row(thread).status == "waiting"
    away(True)
    bench.edit(thread, {"size": 12}, "larger")
    bench.cancel(thread)
    assert bench.row(thread).status == "cancelled"
    assert lost(bench, thread) == []


def test_an_edit_waits_for_the_hot_store(bench: Bench, away: Callable[[bool], None]) -> None:
    thread = bench.start(until=60)
    killed(bench, thread)
    away(True)
    with pytest.raises(streams.HotStoreAway):
        bench.edit(thread, {"size": 12}, "larger")


def test_a_worker_whose_thread_is_cancelled_meanwhile_stops(
    bench: Bench, away: Callable[[bool], None]
) -> None:
    thread = bench.start(until=2_000)

    def cancel(work: Work) -> None:
        if work.step == 35:
            away(True)
            store.cancel(thread, actor="user:1")
            away(False)

    with pytest.raises(LeaseLost):
        worked(bench, taken(thread), before_step=cancel)
    row = bench.row(thread)
    assert (row.status, row.number) == ("cancelled", 0)
    store.drain_due()
    assert bench.row(thread).number == 0
    assert verify_thread(thread).intact


def test_the_stream_of_another_database_stays() -> None:
    thread, token = uuid4(), uuid4()
    streams.open_stream(thread, token=token, seq=1)
    streams.append(thread, token=token, after=0, entries=[b"a step of elsewhere"])
    assert store.drain_due() == 0
    assert [entry.content for entry in streams.entries_of(thread, at_most=9)] == [
        b"a step of elsewhere"
    ]
    [aside] = queries.rows_set_aside()
    assert (aside.part, aside.row) == ("drained", thread)
