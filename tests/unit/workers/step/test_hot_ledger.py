"""Hot agents: steps wait in the hot store, and after a drain nothing shows that they did."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import redis
from django.db import DatabaseError, connection

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import LeaseLost, StaleVersion
from checkpoints.hot import streams
from checkpoints.hot.appends import WINDOW, Appends
from checkpoints.records import Work
from checkpoints.state.deltas import canonical
from checkpoints.store import drains, step_batches
from tests.unit.checkpoints.builders import expire, one, rows
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import ticking as ticking_agent
from tests.unit.workers.graphs.ticking import TOOLS, ticking
from tests.unit.workers.step import drain_strikes
from workers.code.registry import announce
from workers.engine.engine import Engine
from workers.slot import loop
from workers.slot.sweep import drain_once
from workers.step import hot_ledger
from workers.step.hot_ledger import STEPS_AT_ONCE, HotLedger, ledger_for

IDLE: Any = SimpleNamespace(check=lambda: None)
CHANCE = re.compile(
    "[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|20[0-9-]{8}T[0-9:.]{8,15}\\+00:00"
)
pytestmark = [
    pytest.mark.usefixtures("real_db", "hot_store"),
    pytest.mark.requirement("A31"),
]


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the entries that the hot store has acknowledged."""
    numbers: list[int] = []

    class Noted(Appends):
        def append(self, entries: Sequence[bytes]) -> None:
            try:
                super().append(entries)
            finally:
                self.note()

        def wait(self) -> None:
            try:
                super().wait()
            finally:
                self.note()

        def note(self) -> None:
            numbers.extend(range(len(numbers) + 1, self.number + 1))

    monkeypatch.setattr(hot_ledger, "Appends", Noted)
    return numbers


def bench_of(durability: str) -> Bench:
    workspace = store.create_workspace(f"ticking {durability}", actor="user:0")
    graph = ticking(durability, f"ticking-{durability}")
    return Bench(announce(graph, TOOLS, []), workspace)


@pytest.fixture
def bench(settings: Any) -> Bench:
    settings.GATEPOST_LEASE_SECONDS = 1.0  # nobody takes over within a lease of the server's start
    return bench_of("hot")


def worked(
    bench: Bench,
    work: Work,
    *,
    until: int | None = None,
    before_step: Callable[[Work], None] = lambda work: None,
) -> HotLedger:
    """Let the engine work on a lease, and stop dead at step `until`."""
    ledger, work = ledger_for(bench.agent, work)
    assert isinstance(ledger, HotLedger)

    class Dead(BaseException):
        pass

    def check() -> None:
        before_step(work)
        if work.step == until:
            raise Dead

    heart: Any = SimpleNamespace(check=check)
    try:
        Engine(bench.agent, ledger, heart, lambda: False).advance(work)
    except Dead:
        ledger._append(wait=True)  # what was sent arrives all the same
    return ledger


def taken(thread: UUID) -> Work:
    work = leases.acquire(thread, owner="worker:1") or leases.take_over(thread, owner="worker:2")
    assert work is not None
    return work


def acknowledged(thread: UUID) -> int:
    """The number of the newest checkpoint that PostgreSQL or the hot store has."""
    number: int = one("SELECT number FROM gp_thread WHERE id = %s::uuid", (thread,))
    return number + streams.lag_of([thread])[thread].entries


def texts_of(thread: UUID) -> list[Any]:
    """The events of a thread, with ordinals for what is drawn by chance: ids, salted hashes."""
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"id {len(names)}")

    events = []
    for event in queries.events_after(thread, 0):
        text = canonical(event.data).decode().replace("ticking-hot", "ticking-durable")
        events.append((event.seq, event.kind, event.actor, CHANCE.sub(name, text)))
    return events


def rows_of(thread: UUID) -> list[Any]:
    """The checkpoints of a thread with the hashes of their states, and what is stored of each."""
    return rows(
        "SELECT number, step, branch, branch_start, parent_number, source, nodes, next_nodes, "
        "delta, encode(state_hash, 'hex'), state_bytes, schema_version, created_by, "
        "encode(digests, 'hex') FROM gp_checkpoint WHERE thread_id = %s::uuid ORDER BY number",
        (thread,),
    )


@pytest.mark.parametrize("at_once", [7, drains.BATCH])
def test_a_drained_thread_is_as_a_durable_one(
    bench: Bench, appended: list[int], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(drains, "BATCH", at_once)
    durable = bench_of("durable")
    former, thread = (
        store.start(
            each.agent.version_id,
            input={"until": 70, "asks_at": 40, "varied": True},
            workspace=each.workspace,
            actor="user:1",
        )
        for each in (durable, bench)
    )
    for each in (former, thread):
        of = durable if each == former else bench
        for _ in range(2):
            work = taken(each)
            work.owner = "worker:1"
            if of is bench:
                worked(bench, work)
            else:
                Engine(of.agent, of.ledger(), IDLE, lambda: False).advance(work)
            if of.row(each).status == "waiting":
                of.decide(each, "approve")
    assert bench.row(thread).status == durable.row(former).status == "succeeded"
    assert texts_of(thread) == texts_of(former)
    assert rows_of(thread) == rows_of(former)
    assert bench.state(thread) == durable.state(former)
    assert verify_thread(thread).intact
    assert len(appended) > 60
    ends = (
        "SELECT n_steps, version, last_seq, number, step, branch, branch_start, next_nodes, "
        "state_bytes, title, automatic_title, searchable, length(prev_hash) FROM gp_thread "
        "WHERE id = %s::uuid"
    )
    contents = "SELECT sha256, body FROM gp_content WHERE thread_id = %s::uuid ORDER BY sha256"
    for sql in (ends, contents):
        assert rows(sql, (thread,)) == rows(sql, (former,))
    assert len(rows(contents, (thread,))) == 4


def test_steps_of_a_killed_worker_are_drained_before_the_next_one_loads(bench: Bench) -> None:
    thread = bench.start(until=60)
    ledger = worked(bench, taken(thread), until=37)
    until = acknowledged(thread)
    assert 37 - STEPS_AT_ONCE < until <= 37
    assert bench.row(thread).number == 0
    expire(thread)
    seen: list[int] = []
    worked(bench, taken(thread), before_step=lambda work: seen.append(work.step))
    assert seen[0] == until
    assert bench.state(thread)["n"] == 60
    assert len(bench.state(thread)["log"]) == 60
    assert bench.row(thread).status == "succeeded"
    assert verify_thread(thread).intact
    assert ledger.work.step == 37


def test_a_former_holder_appends_until_the_next_one_has_opened_and_not_after(bench: Bench) -> None:
    thread = bench.start(until=100)
    late: list[HotLedger] = []
    first = taken(thread)
    ledger, first = ledger_for(bench.agent, first)
    assert isinstance(ledger, HotLedger)
    heart: Any = SimpleNamespace(check=lambda: None)
    taken_over: list[Work] = []

    def check() -> None:
        if first.step == 20 and not taken_over:
            expire(thread)
            taken_over.append(taken(thread))
        if first.step == 40:
            # All that was acknowledged until now is there for the new owner.
            ledger._append(wait=True)
            late.append(worked(bench, taken_over[0], until=65))

    heart.check = check
    with pytest.raises(LeaseLost):
        Engine(bench.agent, ledger, heart, lambda: False).advance(first)
    assert late[0].work.step == 65
    assert bench.row(thread).number >= 41  # the first step after a crash is committed
    store.drain(thread)
    assert 55 < bench.row(thread).number <= 65
    assert verify_thread(thread).intact
    log = bench.state(thread)["log"]
    assert [line.split()[0] for line in log] == [str(n) for n in range(len(log))]


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, 16))
def test_a_drain_that_is_interrupted_continues_where_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    thread = bench.start(until=200)
    worked(bench, taken(thread), until=150)
    waiting = acknowledged(thread)
    assert waiting - bench.row(thread).number > 100
    count = 0

    def once(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                raise streams.HotStoreAway("killed here")
            return call(*args, **kwargs)

        return made

    for module, name in drain_strikes.POINTS:
        monkeypatch.setattr(module, name, once(getattr(module, name)))
    monkeypatch.setattr(drains, "BATCH", 60)
    with contextlib.suppress(streams.HotStoreAway):
        store.drain(thread)
    assert count >= at, "nothing was interrupted"
    monkeypatch.undo()
    store.drain(thread)
    assert bench.row(thread).number == waiting
    assert verify_thread(thread).intact
    assert streams.lag_of([thread])[thread].entries == 0
    assert streams.threads_with_entries() == []
    assert bench.state(thread)["n"] == waiting


@pytest.mark.slow
def test_a_drain_that_is_killed_at_any_statement_wrote_whole_batches(bench: Bench) -> None:
    thread = bench.start(until=200)
    worked(bench, taken(thread), until=150)
    waiting = acknowledged(thread)
    number = bench.row(thread).number
    assert waiting - number > 2 * drain_strikes.BATCH
    done = subprocess.run(
        [sys.executable, "-m", drain_strikes.__name__, str(thread)],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    strikes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(strikes) == len(drain_strikes.STRIKES)
    for strike in strikes:
        assert strike["killed"], strike
        assert strike["intact"], strike
        # Before the commit nothing is written, and after it all of a batch. One that finds the
        # entries of a killed drain writes none of them again.
        if (strike["point"], strike["after"]) == ("trim", False):
            number += drain_strikes.BATCH
        assert strike["number"] == number, strike
    store.drain(thread)
    assert bench.row(thread).number == waiting
    assert verify_thread(thread).intact
    assert bench.state(thread)["n"] == waiting


def test_a_row_that_was_refused_leaves_nothing_of_its_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(until=60)
    worked(bench, taken(thread), until=50)
    waiting = acknowledged(thread)
    with monkeypatch.context() as patch:
        longest = 50
        patch.setattr(step_batches, "str", lambda kind: "k" * (longest + 1), raising=False)
        with pytest.raises(DatabaseError):
            store.drain(thread)
    assert bench.row(thread).number == 0
    assert rows("SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s::uuid", (thread,)) == [
        (1,)
    ]
    assert store.drain(thread) == waiting
    assert verify_thread(thread).intact


@pytest.mark.slow
def test_drains_at_the_same_time_write_each_step_once(bench: Bench) -> None:
    thread = bench.start(until=2_000)
    worked(bench, taken(thread), until=1_200)
    waiting = streams.lag_of([thread])[thread].entries
    number = acknowledged(thread)
    assert waiting > 300

    def drained(_: int) -> int:
        try:
            return store.drain(thread)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(drained, range(4)))
    assert sum(counts) == waiting
    assert bench.row(thread).number == number
    assert verify_thread(thread).intact


def test_a_cancelled_thread_has_all_that_was_acknowledged_and_nothing_after(bench: Bench) -> None:
    thread = bench.start(until=2_000)
    until = 0

    def cancel(work: Work) -> None:
        nonlocal until
        if work.step == 35:
            until = acknowledged(thread)
            bench.cancel(thread)

    with pytest.raises(LeaseLost):
        worked(bench, taken(thread), before_step=cancel)
    row = bench.row(thread)
    assert (row.status, row.number) == ("cancelled", until)
    assert until > 20
    assert bench.kinds(thread)[-1] == "thread.cancelled"
    assert verify_thread(thread).intact
    assert streams.lag_of([thread])[thread].entries == 0


@pytest.mark.slow
def test_a_change_that_comes_to_nothing_costs_the_worker_nothing(
    bench: Bench, appended: list[int]
) -> None:
    thread = bench.start(until=1_500)

    def refused(work: Work) -> None:
        if work.step in (350, 360, 1_000):
            with pytest.raises(StaleVersion):
                store.cancel(thread, actor="user:1", expected_version=1)

    worked(bench, taken(thread), before_step=refused)
    assert bench.row(thread).status == "succeeded"
    assert verify_thread(thread).intact
    assert len(appended) > 500


def test_a_rollback_takes_what_was_buffered_with_it(bench: Bench) -> None:
    thread = bench.start(until=2_000)

    def roll_back(work: Work) -> None:
        if work.step == 35:
            store.drain(thread)
        if work.step == 55:
            bench.begin_roll_back(thread, 10)

    with pytest.raises(LeaseLost):
        worked(bench, taken(thread), before_step=roll_back)
    assert bench.row(thread).status == "rolling_back"
    assert 45 < bench.row(thread).number <= 55
    assert bench.advance(thread).status == "paused"
    assert bench.state(thread)["n"] == 10
    assert verify_thread(thread).intact


def test_a_pause_is_seen_between_two_steps(bench: Bench) -> None:
    thread = bench.start(until=1_000_000)

    def pause(work: Work) -> None:
        if work.step == 35:
            assert bench.pause(thread) == "requested"

    worked(bench, taken(thread), before_step=pause)
    row = bench.row(thread)
    assert row.status == "paused"
    assert row.number >= 35
    assert verify_thread(thread).intact
    assert bench.state(thread)["n"] == row.step


@pytest.mark.slow
def test_what_the_hot_store_has_lost_is_named_and_nothing_follows_from_it(
    bench: Bench, hot_store: redis.Redis
) -> None:
    thread = bench.start(until=2_000)

    def lose(work: Work) -> None:
        if work.step == 30:
            store.drain(thread)
        if work.step == 60:
            hot_store.flushall()

    with pytest.raises(LeaseLost):
        worked(bench, taken(thread), before_step=lose)
    row = bench.row(thread)
    (lost,) = [e for e in bench.events(thread) if e.kind == "steps.lost"]
    assert row.status == "queued"
    assert lost.data["first"] == row.number + 1
    assert 60 <= lost.data["last"] <= 60 + WINDOW * STEPS_AT_ONCE
    worked(bench, taken(thread))
    assert bench.row(thread).status == "succeeded"
    assert bench.state(thread)["n"] == 2_000
    assert verify_thread(thread).intact


def test_a_large_value_goes_to_the_database_in_its_turn(bench: Bench, appended: list[int]) -> None:
    thread = bench.start(until=30, size=store.buffered_bytes_max())
    worked(bench, taken(thread))
    assert appended == []
    assert bench.state(thread)["n"] == 30
    assert verify_thread(thread).intact


def test_a_full_stream_is_drained_by_its_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ENTRIES_MAX", 20)
    thread = bench.start(until=100)
    worked(bench, taken(thread))
    assert bench.row(thread).status == "succeeded"
    assert verify_thread(thread).intact


def test_the_sweep_drains_what_nobody_works_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = [bench.start(until=100) for _ in range(3)]
    for thread in threads:
        worked(bench, taken(thread), until=50)
    numbers = [acknowledged(thread) for thread in threads]
    lag = streams.lag_of(threads)
    assert all(each.entries >= 40 and each.seconds >= 0 for each in lag.values())
    monkeypatch.setattr(loop, "agents", lambda: {"ticking": bench.agent})
    assert drain_once(owner="sweep") == sum(each.entries for each in lag.values())
    assert [bench.row(t).number for t in threads] == numbers
    assert streams.threads_with_entries() == []


def test_an_effect_happens_after_all_before_it_is_in_the_database(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(until=60, asks_at=40)
    seen: list[tuple[int, int]] = []

    def look(n: int) -> None:
        seen.append((bench.row(thread).number, streams.lag_of([thread])[thread].entries))

    monkeypatch.setattr(ticking_agent, "shown", look)
    worked(bench, taken(thread))
    row = bench.row(thread)
    assert (row.status, row.number) == ("waiting", 40)
    assert streams.lag_of([thread])[thread].entries == 0
    bench.decide(thread, "approve")
    worked(bench, taken(thread))
    assert seen == [(40, 0)]
    assert bench.row(thread).status == "succeeded"


def test_a_thread_sleeps_while_the_hot_store_is_away_and_then_continues(
    bench: Bench, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = bench.start(until=60)
    worked(bench, taken(thread), until=37)
    until = acknowledged(thread)
    expire(thread)
    monkeypatch.setattr(loop, "agents", lambda: {bench.agent.graph.name: bench.agent})
    monkeypatch.setattr(loop, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(streams, "PATIENCE", 0.1)
    present, settings.HOT_URL = settings.HOT_URL, "unix:///nowhere/valkey.sock"
    loop.work_on(taken(thread))
    row = bench.row(thread)
    assert (row.status, row.status_reason) == ("sleeping", "The hot store does not answer.")
    settings.HOT_URL = present
    assert bench.wake_sleepers() == 1
    loop.work_on(taken(thread))
    assert bench.row(thread).status == "succeeded"
    assert bench.state(thread)["n"] == 60 > until
    assert verify_thread(thread).intact
