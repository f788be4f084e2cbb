"""Work ahead of one commit: nobody sees anything of a step before the one before it is known."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection

from checkpoints import leases, queries, store
from checkpoints.errors import LeaseLost
from checkpoints.records import Work
from checkpoints.signals import thread_changed
from checkpoints.states import Status
from checkpoints.store import awaited
from workers import engine
from workers.context import Context

from . import walking
from .conftest import Bench, bench_of
from .walking import begun, plan

pytestmark = pytest.mark.usefixtures("real_db")


class Sending:
    """Counts commits that are sent ahead; `before` and `after` do something around one of them."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.before: dict[int, Callable[[], Any]] = {}
        self.after: dict[int, Callable[[awaited.AwaitedStep], Any]] = {}
        self._send = awaited.send

    def __call__(self, work: Work, ready: awaited.ReadyStep) -> awaited.AwaitedStep | None:
        number = ready.step.checkpoint.step
        self.before.pop(number, lambda: None)()
        sent = self._send(work, ready)
        if sent is not None:
            self.numbers.append(number)
            self.after.pop(number, lambda _: None)(sent)
        return sent


@pytest.fixture(autouse=True)
def sending(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sending]:
    """Every node is quick, however slow the machine is."""
    plan.clear()
    begun.clear()
    made = Sending()
    monkeypatch.setattr(awaited, "send", made)
    monkeypatch.setattr(engine, "QUICK_SECONDS", 60.0)
    yield made
    plan.clear()


@pytest.fixture
def bench() -> Bench:
    return bench_of(walking)


def told(bench: Bench, thread: UUID) -> list[tuple[str, Any]]:
    """The log without what differs from thread to thread."""
    kept = ("step", "number", "nodes", "next", "text", "error", "from", "to", "because")
    return [
        (str(e.kind), {k: e.data[k] for k in kept if k in e.data}) for e in bench.events(thread)
    ]


def other(sql: str, *params: Any) -> Any:
    """The first value of a statement on a connection of its own."""
    mine = connection.copy()
    try:
        with mine.cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.fetchone()[0]
    finally:
        mine.close()


def committed(thread: UUID, step: int) -> bool:
    """Wait until the step is in the database."""
    for _ in range(500):
        if other("SELECT step FROM gp_thread WHERE id = %s::uuid", thread) >= step:
            return True
        time.sleep(0.01)
    raise AssertionError(f"step {step} is not committed")


def test_the_history_is_the_same_as_without(
    bench: Bench, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = bench.start(rounds=12)
    assert bench.advance(ahead).status is Status.SUCCEEDED
    assert sending.numbers == list(range(1, 12))  # all but the last
    monkeypatch.setattr(engine, "QUICK_SECONDS", 0.0)
    plainly = bench.start(rounds=12)
    bench.advance(plainly)
    assert sending.numbers == list(range(1, 12))
    assert told(bench, ahead) == told(bench, plainly)
    assert bench.state(ahead) == bench.state(plainly)
    assert begun == [*range(12)] * 2
    one, two = bench.row(ahead), bench.row(plainly)
    assert (one.version, one.last_seq, one.step) == (two.version, two.last_seq, two.step)
    assert bench.intact(ahead)


def test_a_step_is_one_round_trip_and_one_write_transaction(bench: Bench, sending: Sending) -> None:
    xmax = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"

    def cost(rounds: int) -> tuple[int, int]:
        thread = bench.start(rounds=rounds)
        bench.row(thread)
        before = other(xmax)
        server = connection.connection.pgconn
        with tempfile.TemporaryFile() as log:
            server.trace(log.fileno())
            try:
                bench.advance(thread)
            finally:
                server.untrace()
            log.seek(0)
            sent = [line.split(b"\t") for line in log]
        asked = [part[3].strip() for part in sent if len(part) > 3 and part[1] == b"F"]
        return sum(what in (b"Sync", b"Query") for what in asked), other(xmax) - before

    for _ in range(6):
        cost(5)
    cost(40)  # everything is prepared now, also the step that keeps its digests
    few, many = cost(10), cost(110)
    assert len(sending.numbers) > 100
    assert (many[0] - few[0], many[1] - few[1]) == (100, 100)


@pytest.mark.parametrize("node", ["", "walk"])
def test_news_in_the_answer_drop_the_work_ahead(bench: Bench, sending: Sending, node: str) -> None:
    thread = bench.start()
    sending.before[4] = lambda: store.pause(thread, actor="user:1", before_node=node)
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.PAUSED, 4)
    assert begun == [0, 1, 2, 3, 4]  # the fifth round worked, and nobody knows
    assert "4 with 0" not in str(bench.state(thread))
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert begun == [0, 1, 2, 3, 4, *range(4, 8)]
    assert [line[:1] for line in bench.state(thread)["log"]] == [*"01234567"]
    assert bench.intact(thread)


def test_a_message_is_taken_before_the_step_that_was_begun(bench: Bench, sending: Sending) -> None:
    thread = bench.start()
    sending.before[4] = lambda: store.send_input(thread, message="stop it", actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert begun == [0, 1, 2, 3, 4, *range(4, 8)]
    state = bench.state(thread)
    assert state["mail"] == ["stop it"]
    assert [line[:8] for line in state["log"]] == [
        *(f"{n} with 0" for n in range(4)),
        *(f"{n} with 1" for n in range(4, 8)),
    ]
    assert bench.intact(thread)
    assert sending.numbers[-1] == 7  # and it goes on working ahead


def test_a_lost_lease_writes_nothing_further(bench: Bench, sending: Sending) -> None:
    thread = bench.start()
    sending.before[4] = lambda: store.cancel(thread, actor="user:1")
    with pytest.raises(LeaseLost):
        bench.advance(thread)
    assert begun == [0, 1, 2, 3, 4]
    row = bench.row(thread)
    assert (row.status, row.step) == (Status.CANCELLED, 3)
    assert bench.kinds(thread)[-1] == "thread.cancelled"


def test_a_lost_lease_that_an_author_swallows_writes_nothing_further(
    bench: Bench, sending: Sending
) -> None:
    thread = bench.start()

    def careless(ctx: Context) -> None:
        for _ in range(2):
            try:
                ctx.think("I go on whatever happens")
            except BaseException:
                pass

    plan[4] = careless
    sending.before[4] = lambda: store.cancel(thread, actor="user:1")
    with pytest.raises(LeaseLost):
        bench.advance(thread)
    assert bench.row(thread).step == 3
    assert bench.kinds(thread)[-1] == "thread.cancelled"


def cut(_sent: Any = None) -> None:
    """End the connection that the engine works on."""
    pid = connection.connection.info.backend_pid
    assert other("SELECT pg_terminate_backend(%s)", pid)
    time.sleep(0.1)


def test_a_connection_that_breaks_before_the_commit_loses_nothing(
    bench: Bench, sending: Sending, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    thread = bench.start()
    sending.before[4] = cut
    with pytest.raises(OperationalError):
        bench.advance(thread)
    row = bench.row(thread)
    assert (row.status, row.step) == (Status.RUNNING, 3)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [line[:1] for line in bench.state(thread)["log"]] == [*"01234567"]
    assert bench.intact(thread)


def test_an_answer_that_is_lost_with_its_connection_is_looked_up(
    bench: Bench, sending: Sending
) -> None:
    thread = bench.start()

    def lose(sent: awaited.AwaitedStep) -> None:
        assert committed(thread, 4)
        answer = sent._answer

        def gone() -> None:
            raise OperationalError("server closed the connection unexpectedly")

        answer.wait = gone  # type: ignore[method-assign]

    sending.after[4] = lose
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert begun == [*range(8)]
    assert 4 in sending.numbers
    assert bench.row(thread).step == 8
    assert bench.intact(thread)


def test_a_node_that_fails_ahead_is_reported_after_the_commit(
    bench: Bench, sending: Sending
) -> None:
    thread = bench.start()

    def fail(_ctx: Context) -> None:
        raise ValueError("no way")

    plan[4] = fail
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.FAILED, 4)
    assert 4 in sending.numbers
    assert [kind for kind in bench.kinds(thread) if kind != "way.taken"][-3:] == [
        "checkpoint.committed",
        "step.failed",
        "thread.failed",
    ]
    assert begun == [0, 1, 2, 3, 4]


def test_a_node_that_fails_ahead_of_news_has_not_failed(bench: Bench, sending: Sending) -> None:
    thread = bench.start()

    def fail(_ctx: Context) -> None:
        raise ValueError("no way")

    plan[4] = fail
    sending.before[4] = lambda: store.pause(thread, actor="user:1")
    assert bench.advance(thread).status is Status.PAUSED
    assert "step.failed" not in bench.kinds(thread)
    del plan[4]
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED


@pytest.mark.parametrize(
    "use",
    [
        lambda ctx: ctx.think("hm"),
        lambda ctx: ctx.now(),
        lambda ctx: ctx.random(),
        lambda ctx: ctx.config,
        lambda ctx: ctx.thread_id,
        lambda ctx: ctx.activity(len, "abc"),
        lambda ctx: ctx.artifact("a.txt", b"a", "text/plain"),
        lambda ctx: ctx.sleep(0),
    ],
)
def test_whatever_a_node_asks_its_context_is_asked_after_the_answer(
    bench: Bench, sending: Sending, use: Callable[[Context], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    settle = awaited.AwaitedStep.settle

    def settling(self: awaited.AwaitedStep) -> None:
        settle(self)
        order.append(f"known {self._step.checkpoint.step}")

    def using(ctx: Context) -> None:
        assert order[-1] == "known 3"
        use(ctx)
        order.append("used")

    monkeypatch.setattr(awaited.AwaitedStep, "settle", settling)
    plan[4] = using
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    place = order.index("used")
    assert order[place - 1] == "known 4"
    assert begun == [*range(8)]  # it went on where it was
    assert 5 not in sending.numbers  # what asks is not worked ahead the next time
    assert 6 in sending.numbers
    assert bench.intact(thread)


def test_a_commit_is_told_while_the_next_node_is_slow(bench: Bench, sending: Sending) -> None:
    heard: list[tuple[int, float]] = []
    slow: list[float] = []

    def note(*, seq: int, **_more: Any) -> None:
        heard.append((seq, time.monotonic()))

    def dawdle(_ctx: Context) -> None:
        slow.append(time.monotonic())
        time.sleep(0.5)
        slow.append(time.monotonic())

    plan[4] = dawdle
    thread = bench.start()
    thread_changed.connect(note)
    try:
        assert bench.advance(thread).status is Status.SUCCEEDED
    finally:
        thread_changed.disconnect(note)
    assert 4 in sending.numbers
    seqs = [seq for seq, _ in heard]
    assert seqs == sorted(set(seqs))  # each once, in order
    (mine,) = [
        at
        for event in bench.events(thread)
        if event.kind == "checkpoint.committed" and event.data["step"] == 4
        for seq, at in heard
        if seq in (event.seq, event.seq + 1)
    ]
    assert slow[0] - 0.05 < mine < slow[0] + 0.25 < slow[1]


def test_a_slow_node_is_not_worked_ahead(
    bench: Bench, sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "QUICK_SECONDS", 0.05)
    plan[4] = lambda _ctx: time.sleep(0.06)
    thread = bench.start()
    bench.advance(thread)
    assert 5 not in sending.numbers  # the sixth round waits, since the fifth was slow
    assert 4 in sending.numbers


def test_who_asks_on_the_connection_meanwhile_is_refused_and_takes_nothing(
    bench: Bench, sending: Sending
) -> None:
    thread = bench.start()
    refused: list[Exception] = []

    def ask(_sent: awaited.AwaitedStep) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except OperationalError as error:
            refused.append(error)

    sending.after[4] = ask
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert len(refused) == 1
    assert bench.row(thread).step == 8
    assert bench.intact(thread)


def test_statements_that_were_forgotten_are_prepared_again(bench: Bench, sending: Sending) -> None:
    thread = bench.start()

    def forget() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")

    sending.before[4] = forget
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.row(thread).step == 8
    assert bench.intact(thread)


def test_keyframes_hold_the_state_of_their_own_step(bench: Bench, sending: Sending) -> None:
    thread = bench.start(rounds=60, size=5_000)
    assert bench.advance(thread).status is Status.SUCCEEDED
    frames = "SELECT count(*) FROM gp_keyframe WHERE thread_id = %s::uuid"
    assert other(frames, thread) >= 1
    assert len(sending.numbers) > 40
    for row in queries.checkpoints(thread).rows:
        log = queries.state_at(thread, row.id)["log"]
        assert len(log) == row.step
    assert bench.intact(thread)


def test_where_statements_are_watched_each_commit_is_waited_for(
    bench: Bench, sending: Sending
) -> None:
    watched = []

    def watch(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        watched.append(sql)
        return execute(sql, params, many, context)

    thread = bench.start()
    with connection.execute_wrapper(watch):
        assert bench.advance(thread).status is Status.SUCCEEDED
    assert sending.numbers == []
    assert sum("UPDATE gp_thread" in str(sql) for sql in watched) >= 8


def test_a_worker_that_stops_does_not_begin_the_next_step(bench: Bench, sending: Sending) -> None:
    stop: list[int] = []
    sending.after[4] = lambda _sent: stop.append(1)
    bench.stopping = lambda: bool(stop)
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.QUEUED, 4)
    assert begun == [0, 1, 2, 3]


def test_a_worker_that_stops_meanwhile_drops_the_step_it_has_begun(
    bench: Bench, sending: Sending
) -> None:
    stop: list[int] = []
    plan[4] = lambda _ctx: stop.append(1)
    bench.stopping = lambda: bool(stop)
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.QUEUED, 4)
    assert begun == [0, 1, 2, 3, 4]


def test_nothing_is_left_under_way_when_the_work_ends_by_a_fault(
    bench: Bench, sending: Sending
) -> None:
    def burst(_ctx: Context) -> None:
        raise MemoryError

    plan[4] = burst
    thread = bench.start()
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    with pytest.raises(MemoryError):
        engine.Engine(bench.agent, bench.ledger(), _Calm(), lambda: False).advance(work)
    assert work.step == 4  # as the commit before it left it
    assert bench.row(thread).step == 4


@pytest.mark.parametrize("where", ["in the node", "in the wait"])
def test_an_end_of_the_process_leaves_no_answer_to_be_mistaken(
    bench: Bench, sending: Sending, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_any: Any) -> None:
        raise SystemExit

    thread = bench.start()
    stop: list[int] = []
    bench.stopping = lambda: bool(stop)
    if where == "in the node":

        def exit_now(_ctx: Context) -> None:
            stop.append(1)
            raise SystemExit

        plan[4] = exit_now
    else:
        sending.after[4] = lambda sent: monkeypatch.setattr(sent._answer, "_listen", end)
    with pytest.raises(SystemExit):
        bench.advance(thread)
    assert committed(thread, 4)
    if where == "in the wait":
        with pytest.raises(OperationalError, match="closed"):
            bench.row(thread)  # rather than an answer to something else
        connection.close()
    assert bench.row(thread).step == 4
    assert bench.intact(thread)


class _Calm:
    def check(self) -> None:
        pass


def test_without_the_guard_no_node_works_ahead(bench: Bench, sending: Sending) -> None:
    thread = bench.start()
    work = leases.acquire(thread, owner="worker:test")
    assert work is not None
    engine.Engine(bench.agent, bench.ledger(), _Calm(), lambda: False, guard=False).advance(work)
    assert bench.row(thread).status is Status.SUCCEEDED
    assert sending.numbers == []
