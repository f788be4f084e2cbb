"""Between two steps: what is obeyed, what is lost with a lease or connection, what pages learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection

from checkpoints import leases, queries, store
from checkpoints.errors import LeaseLost
from checkpoints.records import Work
from checkpoints.signals import thread_changed
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import walking
from tests.unit.workers.graphs.walking import begun, plan
from workers.engine import engine
from workers.node.context import Context
from workers.step.guard import unguarded

pytestmark = pytest.mark.usefixtures("real_db")


class Commits:
    """Commits of steps; `before` and `after` do something around one of them."""

    def __init__(self) -> None:
        self.before: dict[int, Callable[[], Any]] = {}
        self.after: dict[int, Callable[[], Any]] = {}
        self._commit = store.commit_step

    def __call__(self, work: Work, checkpoint: store.NewCheckpoint, **more: Any) -> None:
        self.before.pop(checkpoint.step, lambda: None)()
        self._commit(work, checkpoint, **more)
        self.after.pop(checkpoint.step, lambda: None)()


@pytest.fixture(autouse=True)
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commits]:
    plan.clear()
    begun.clear()
    made = Commits()
    monkeypatch.setattr(store, "commit_step", made)
    yield made
    plan.clear()


@pytest.fixture
def bench() -> Bench:
    return bench_of(walking)


def other(sql: str, *params: Any) -> Any:
    """The first value of a statement on a connection of its own."""
    mine = connection.copy()
    try:
        with mine.cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.fetchone()[0]
    finally:
        mine.close()


@pytest.mark.parametrize("node", ["", "walk"])
def test_a_wish_is_obeyed_before_the_next_step(bench: Bench, commits: Commits, node: str) -> None:
    thread = bench.start()
    commits.before[4] = lambda: store.pause(thread, actor="user:1", before_node=node)
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.PAUSED, 4)
    assert begun == [0, 1, 2, 3]
    assert "4 with 0" not in str(bench.state(thread))
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert begun == [*range(8)]
    assert [line[:1] for line in bench.state(thread)["log"]] == [*"01234567"]
    assert bench.intact(thread)


def test_a_message_is_taken_before_the_next_step(bench: Bench, commits: Commits) -> None:
    thread = bench.start()
    commits.before[4] = lambda: store.send_input(thread, message="stop it", actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert begun == [*range(8)]
    state = bench.state(thread)
    assert state["mail"] == ["stop it"]
    assert [line[:8] for line in state["log"]] == [
        *(f"{n} with 0" for n in range(4)),
        *(f"{n} with 1" for n in range(4, 8)),
    ]
    assert bench.intact(thread)


def test_a_lost_lease_writes_nothing_further(bench: Bench, commits: Commits) -> None:
    thread = bench.start()
    commits.before[4] = lambda: store.cancel(thread, actor="user:1")
    with pytest.raises(LeaseLost):
        bench.advance(thread)
    assert begun == [0, 1, 2, 3]
    row = bench.row(thread)
    assert (row.status, row.step) == (Status.CANCELLED, 3)
    assert bench.kinds(thread)[-1] == "thread.cancelled"


def test_a_lost_lease_that_an_author_swallows_writes_nothing_further(bench: Bench) -> None:
    thread = bench.start()

    def careless(ctx: Context) -> None:
        with unguarded():  # it is somebody else who does it
            store.cancel(thread, actor="user:1")
        for _ in range(2):
            try:
                ctx.activity(len, "abc")
            except BaseException:
                pass

    plan[4] = careless
    with pytest.raises(LeaseLost):
        bench.advance(thread)
    assert bench.row(thread).step == 4
    assert bench.kinds(thread)[-1] == "thread.cancelled"


def cut() -> None:
    """End the connection that the engine works on."""
    pid = connection.connection.info.backend_pid
    assert other("SELECT pg_terminate_backend(%s)", pid)
    time.sleep(0.1)


def test_a_connection_that_breaks_before_the_commit_loses_nothing(
    bench: Bench, commits: Commits, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    thread = bench.start()
    commits.before[4] = cut
    with pytest.raises(OperationalError):
        bench.advance(thread)
    row = bench.row(thread)
    assert (row.status, row.step) == (Status.RUNNING, 3)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert [line[:1] for line in bench.state(thread)["log"]] == [*"01234567"]
    assert bench.intact(thread)


def test_a_failed_node_keeps_the_step_before(bench: Bench, commits: Commits) -> None:
    thread = bench.start()

    def fail(_ctx: Context) -> None:
        raise ValueError("no way")

    plan[4] = fail
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.FAILED, 4)
    assert [kind for kind in bench.kinds(thread) if kind != "way.taken"][-3:] == [
        "checkpoint.committed",
        "step.failed",
        "thread.failed",
    ]
    assert begun == [0, 1, 2, 3, 4]


def test_pages_learn_of_a_step_before_the_next_one_is_worked(bench: Bench) -> None:
    heard: list[int] = []
    seen: list[int] = []
    plan[4] = lambda _ctx: seen.extend(heard)

    def note(*, seq: int, **_more: Any) -> None:
        heard.append(seq)

    thread = bench.start()
    thread_changed.connect(note)
    try:
        assert bench.advance(thread).status is Status.SUCCEEDED
    finally:
        thread_changed.disconnect(note)
    assert heard == sorted(set(heard))  # each once, in order
    (committed,) = [
        event.seq
        for event in bench.events(thread)
        if event.kind == "checkpoint.committed" and event.data["step"] == 4
    ]
    assert seen[-1] >= committed


def test_statements_that_were_forgotten_are_prepared_again(bench: Bench, commits: Commits) -> None:
    thread = bench.start()

    def forget() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")

    commits.before[4] = forget
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.row(thread).step == 8
    assert bench.intact(thread)


def test_keyframes_hold_the_state_of_their_own_step(bench: Bench, commits: Commits) -> None:
    thread = bench.start(rounds=60, size=5_000)
    assert bench.advance(thread).status is Status.SUCCEEDED
    frames = "SELECT count(*) FROM gp_keyframe WHERE thread_id = %s::uuid"
    assert other(frames, thread) >= 1
    for row in queries.checkpoints(thread).rows:
        log = queries.state_at(thread, row.id)["log"]
        assert len(log) == row.step
    assert bench.intact(thread)


def test_a_worker_that_stops_does_not_begin_the_next_step(bench: Bench, commits: Commits) -> None:
    stop: list[int] = []
    commits.after[4] = lambda: stop.append(1)
    bench.stopping = lambda: bool(stop)
    thread = bench.start()
    row = bench.advance(thread)
    assert (row.status, row.step) == (Status.QUEUED, 4)
    assert begun == [0, 1, 2, 3]


def test_a_fault_of_the_process_leaves_the_last_commit(bench: Bench, commits: Commits) -> None:
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


def test_an_end_of_the_process_leaves_the_last_commit(bench: Bench) -> None:
    def exit_now(_ctx: Context) -> None:
        raise SystemExit

    plan[4] = exit_now
    thread = bench.start()
    with pytest.raises(SystemExit):
        bench.advance(thread)
    assert bench.row(thread).step == 4
    assert bench.intact(thread)


class _Calm:
    def check(self) -> None:
        pass
