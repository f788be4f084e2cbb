"""Verifying covers cursors: each that is kept is an event, and the row must stand where it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.state import deltas
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, effect, make_thread, new_activity, rows
from tests.unit.dashboard.carried import brought, empty, export
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.former import former_version
from workers.authoring.graph import END, Append, Graph, Retry, State
from workers.node.context import Context, cursor, progress

pytestmark = pytest.mark.django_db


class Items(State):
    n: int = 6
    got: Annotated[list[int], Append()] = []


class World:
    """What the activity does in these tests: it tells of each item, and breaks off where told."""

    items: list[int] = []
    breaks_at: set[int] = set()
    stop = False
    stops_at = 0
    every = 1


@pytest.fixture(autouse=True)
def _new_world() -> None:
    World.items, World.breaks_at, World.stop, World.stops_at = [], set(), False, 0
    World.every = 1


def fetch(n: int) -> list[int]:
    got: list[int] = (cursor() or {"got": []})["got"]
    for number in range(len(got) + 1, n + 1):
        if number in World.breaks_at:
            World.breaks_at.remove(number)
            raise ConnectionError("the line is cut")
        World.items.append(number)
        got.append(number)
        World.stop = number == World.stops_at
        progress(number, n, cursor={"got": got}, every=World.every)
    return got


graph = Graph("watched-items", Items, retry=Retry(attempts=1))


@graph.node(then=END)
def work(state: Items, ctx: Context) -> dict[str, Any]:
    return {"got": ctx.activity(fetch, state.n)}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)


@pytest.fixture
def bench(cast: Cast) -> Bench:
    made = bench_of(MODULE)
    made.workspace = cast.workspace
    made.stopping = lambda: World.stop
    return made


@pytest.fixture(autouse=True)
def _unguarded(db: None) -> Iterator[None]:
    """Somebody with all rights, past every trigger."""
    with connection.cursor() as database:
        database.execute("SET session_replication_role = replica")
        yield
        database.execute("SET session_replication_role = DEFAULT")


def stopped(bench: Bench, at: int = 3, thread: UUID | None = None) -> UUID:
    """A thread whose worker left after so many items; its call is at work."""
    thread = thread or bench.start()
    World.stops_at = at
    assert bench.advance(thread).status == "queued"
    World.stops_at, World.stop = 0, False
    return thread


def failed(bench: Bench, at: int = 4, thread: UUID | None = None) -> UUID:
    """A thread whose call failed before this item."""
    thread = thread or bench.start()
    World.breaks_at = {at}
    assert bench.advance(thread).status == "failed"
    return thread


def last(thread: UUID, *kinds: str) -> int:
    return max(e.seq for e in queries.events_after(thread, 0) if e.kind in kinds)


def verdict_on(thread: UUID) -> str:
    return verify(thread, files=False).what


TAMPERED = {
    "altered": "cursor = '{\"got\": [1, 2, 9]}'",
    "set back": "cursor = '{\"got\": [1]}'",
    "set on": "cursor = '{\"got\": [1, 2, 3, 4, 5, 6]}'",
    "null of JSON": "cursor = 'null'",
    "gone": "cursor = NULL",
}


@pytest.mark.slow
@pytest.mark.parametrize("made", [stopped, failed])
@pytest.mark.parametrize("how", TAMPERED)
def test_a_cursor_that_was_altered_is_found(
    bench: Bench, made: Callable[[Bench], UUID], how: str
) -> None:
    thread = made(bench)
    assert verify(thread, files=False).intact, verdict_on(thread)
    rows(f"UPDATE gp_activity SET {TAMPERED[how]} WHERE thread_id = %s RETURNING 1", [thread])
    report = verify(thread, files=False)
    assert (report.intact, report.ident) == (False, thread)
    named = "cursor.kept" if made is stopped else "activity.failed"
    assert report.first_broken_seq == last(thread, named)
    assert "the cursor of the activity it names" in report.what


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "started_at = started_at + interval '1 second'",
        "attempts = attempts + 1",
        "attempts = attempts - 1",
        "tool = 'other'",
        "error = 'x'",
        "undo = 'x'",
        "idempotency_key = 'x'",
        "salt = sha256(salt)",
        "revision = 3",
        "finished_at = clock_timestamp()",
        "usage = '{}'",
        "state = 'failed', finished_at = started_at",
        "state = 'planned'",
        "workspace_id = gen_random_uuid()",
    ],
)
def test_what_is_at_work_is_sealed_with_its_cursor(bench: Bench, change: str) -> None:
    thread = stopped(bench)
    rows(f"UPDATE gp_activity SET {change} WHERE thread_id = %s RETURNING 1", [thread])
    report = verify(thread, files=False)
    assert not report.intact
    assert report.first_broken_seq


def test_a_call_at_work_is_missed(bench: Bench) -> None:
    thread = stopped(bench)
    rows("DELETE FROM gp_activity WHERE thread_id = %s RETURNING 1", [thread])
    assert "is missing" in verdict_on(thread)


def test_a_cursor_where_none_was_kept_is_found(bench: Bench) -> None:
    """Beside a failure, a result, an effect, and a call that has only shown how far it is."""
    world = failed(bench, at=1)
    done = bench.start()
    assert bench.advance(done).status == "succeeded"
    shown = make_thread()
    at_work = drive(shown, 1).work
    store.report_progress(at_work, new_activity(at_work, "look#0"), {"done": 1})
    mailed = make_thread()
    effect(drive(mailed, 1).work, "mail#0", state="done")
    for thread, seq in (
        (world, last(world, "activity.failed")),
        (done, None),
        (shown, None),
        (mailed, None),
    ):
        assert verify(thread, files=False).intact
        with transaction.atomic():
            rows("UPDATE gp_activity SET cursor = '1' WHERE thread_id = %s RETURNING 1", [thread])
            report = verify(thread, files=False)
            assert report.first_broken_seq == (seq or queries.events_after(thread, 0)[-1].seq)
            assert "cursor" in report.what
            transaction.set_rollback(True)


def test_a_cursor_of_another_call_does_not_fit(bench: Bench) -> None:
    one, other = stopped(bench), stopped(bench, at=5)
    rows(
        "UPDATE gp_activity a SET cursor = b.cursor FROM gp_activity b "
        "WHERE a.thread_id = %s AND b.thread_id = %s RETURNING 1",
        [one, other],
    )
    assert f"Event {last(one, 'cursor.kept')}: " in verdict_on(one)
    assert verify(other, files=False).intact


@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("cursor", ["NULL", "cursor", "'{\"got\": [1]}'"])
def test_a_failed_call_is_not_made_one_at_work(bench: Bench, at: int, cursor: str) -> None:
    """Nothing but a kept cursor leads there: its failure would be hidden."""
    thread = failed(bench, at=at)
    rows(
        "UPDATE gp_activity SET state = 'started', attempts = attempts + 1, error = '', "
        f"finished_at = NULL, cursor = {cursor} WHERE thread_id = %s RETURNING 1",
        [thread],
    )
    report = verify(thread, files=False)
    assert report.first_broken_seq == last(thread, "activity.failed")


def test_each_way_of_a_cursor_is_intact(bench: Bench) -> None:
    """Stopped, failed at once, failed later, asked otherwise, forked, rolled back, done."""
    thread = stopped(bench, at=2)
    failed(bench, at=3, thread=thread)  # its call told nothing new: what it was given stays
    (row,) = queries.activities(thread)
    assert (row.state, row.attempts, row.cursor) == ("failed", 2, {"got": [1, 2]})
    assert verify(thread, files=False).intact, verdict_on(thread)
    rows("UPDATE gp_activity SET cursor = NULL WHERE thread_id = %s RETURNING 1", [thread])
    assert "is gone" in verdict_on(thread)
    rows(
        "UPDATE gp_activity SET cursor = '{\"got\": [1, 2]}' WHERE thread_id = %s RETURNING 1",
        [thread],
    )
    bench.edit(thread, {"n": 5}, "fewer")
    store.retry(thread, actor="user:1")
    failed(bench, at=1, thread=thread)
    (row,) = queries.activities(thread)
    assert (row.state, row.cursor) == ("failed", None)
    assert verify(thread, files=False).intact, verdict_on(thread)
    rows(
        "UPDATE gp_activity SET cursor = '{\"got\": [1, 2]}' WHERE thread_id = %s RETURNING 1",
        [thread],
    )
    assert "no event records the cursor" in verdict_on(thread)
    rows("UPDATE gp_activity SET cursor = NULL WHERE thread_id = %s RETURNING 1", [thread])
    store.retry(thread, actor="user:1")
    stopped(bench, at=4, thread=thread)
    fork = bench.fork(thread, 0, {"n": 4})
    bench.begin_roll_back(thread, 0)
    bench.advance(thread)
    assert verify(thread, files=False).intact, verdict_on(thread)
    store.resume(thread, actor="user:1")
    for each in (thread, fork):
        assert bench.advance(each).status == "succeeded"
        assert verify(each, files=False).intact, verdict_on(each)
    rows(
        "UPDATE gp_activity SET cursor = NULL WHERE thread_id = %s AND state = 'started' "
        "RETURNING 1",
        [thread],
    )
    assert not verify(thread, files=False).intact, "also behind a rollback"


def test_a_cursor_and_its_event_are_one_statement(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    """And the event is small, however large the cursor is; what it holds is in the row alone."""
    thread = make_thread()
    at_work = drive(thread, 1).work
    long = deltas.canonical({"secret": "x" * 100_000})
    with django_assert_num_queries(1):
        store.keep_cursor(at_work, new_activity(at_work, "look#0"), cursor=long)
    event = queries.events_after(thread, 0)[-1]
    assert (event.kind, event.data["size"]) == ("cursor.kept", len(long))
    assert len(deltas.canonical(event.data)) < 700
    assert "secret" not in str(event.data)
    row = rows("SELECT salt FROM gp_activity WHERE thread_id = %s", [thread])[0]
    assert event.data["cursor_hash"] == sha256(bytes(row[0]) + long).hexdigest()


# ---- former versions ---------------------------------------------------------------------------


@pytest.mark.parametrize("then", [nullcontext, former_version])
@pytest.mark.parametrize("made", [stopped, failed])
def test_old_logs_verify_as_before_and_go_on_where_they_stood(
    bench: Bench, made: Callable[..., UUID], then: Callable[[], Any]
) -> None:
    with former_version():
        thread = made(bench, at=3)
    assert "cursor.kept" not in bench.kinds(thread)
    assert verify(thread, files=False).intact, verdict_on(thread)
    before = list(World.items)
    with then():
        for _ in range(2):
            if bench.row(thread).status == "failed":
                store.retry(thread, actor="user:1")
            failed(bench, at=len(World.items) + 1, thread=thread)
            assert World.items == before, "it was given its cursor, and told nothing new"
            assert verify(thread, files=False).intact, verdict_on(thread)
    store.retry(thread, actor="user:1")
    stopped(bench, at=4, thread=thread)
    assert World.items == [1, 2, 3, 4]
    assert verify(thread, files=False).intact, verdict_on(thread)
    with transaction.atomic():
        rows("UPDATE gp_activity SET cursor = '[]' WHERE thread_id = %s RETURNING 1", [thread])
        assert not verify(thread, files=False).intact, "from now on it is sealed"
        transaction.set_rollback(True)
    assert bench.advance(thread).status == "succeeded"
    assert World.items == [1, 2, 3, 4, 5, 6]
    assert verify(thread, files=False).intact, verdict_on(thread)


@pytest.mark.parametrize("ends", [stopped, failed, None])
def test_a_worker_of_the_former_version_raises_no_alarm(
    bench: Bench, ends: Callable[..., UUID] | None
) -> None:
    """During a deploy it takes what a newer one left, and keeps cursors without an event."""
    thread = stopped(bench, at=2)
    with former_version():
        if ends is None:
            assert bench.advance(thread).status == "succeeded"
        else:
            ends(bench, at=4, thread=thread)
    assert verify(thread, files=False).intact, verdict_on(thread)
    if ends is not None:
        if ends is failed:
            store.retry(thread, actor="user:1")
        failed(bench, at=len(World.items) + 1, thread=thread)
        assert verify(thread, files=False).intact, verdict_on(thread)
        store.retry(thread, actor="user:1")
        assert bench.advance(thread).status == "succeeded"
        assert verify(thread, files=False).intact, verdict_on(thread)
    assert World.items == [1, 2, 3, 4, 5, 6]
    rows("UPDATE gp_activity SET cursor = '1' WHERE thread_id = %s RETURNING 1", [thread])
    assert not verify(thread, files=False).intact, "a result has none, whoever wrote it"


def test_a_later_call_of_an_old_thread_is_sealed_all_the_same(bench: Bench) -> None:
    """What the former version held is over: its first call under a newer lease leaves no doubt."""
    with former_version():
        thread = bench.start()
        World.stop = True
        assert bench.advance(thread).status == "queued"
        World.stop = False
    failed(bench, at=1, thread=thread)
    assert verify(thread, files=False).intact, verdict_on(thread)
    rows("UPDATE gp_activity SET cursor = '1' WHERE thread_id = %s RETURNING 1", [thread])
    assert "no event records the cursor" in verdict_on(thread)


# ---- capsules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [stopped, failed])
def test_a_capsule_brings_cursors_that_its_log_proves(
    bench: Bench, tmp_path: Path, made: Callable[[Bench], UUID]
) -> None:
    thread = made(bench)
    capsule = export(thread, tmp_path, who="operator")
    empty(agents=False)
    brought(capsule, who="operator")
    assert verify(thread).intact, verdict_on(thread)
    rows("UPDATE gp_activity SET cursor = '1' WHERE thread_id = %s RETURNING 1", [thread])
    assert "the cursor of the activity it names was altered" in verdict_on(thread)
