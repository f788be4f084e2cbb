"""Verifying covers every column: each one is altered in turn, past all guards, and found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction

from approvals.models import STATUSES, VERDICTS, WHAT_NEXT
from checkpoints import queries, store
from checkpoints.models import Thread
from checkpoints.states import (
    ACTIVITY_KINDS,
    ACTIVITY_STATES,
    CHECKPOINT_SOURCES,
    EventKind,
    Status,
)
from dashboard.operating.proof import verify
from tests.checkpoints.builders import (
    OPERATOR,
    drive,
    effect,
    head_of,
    make_thread,
    new_activity,
    rows,
)
from tests.workers.conftest import Bench

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
# Columns that no proof can or needs to cover, each with the reason.
FREE = {
    ("gp_event", "xid8"): "a place in this very database; a dump that is put back has others",
    ("gp_activity", "progress"): "how far a call is, for the page; no history",
}
# Of the thread's own row, what its log tells: the rest is where it stands now, not its past.
OF_THREAD = {
    "workspace_id",
    "chain_id",
    "last_seq",
    "last_hash",
    "head",
    "number",
    "step",
    "branch",
    "branch_start",
    "next_nodes",
    "state_bytes",
    "imported_seq",
    "imported_number",
    "pinned",
    "started_by",
    "base",
    "forked_from",
    "agent",
    "agent_version_id",
    "title",
    "status",
    "n_steps",
    "name",
    "queue",
    "labels",
    "pause_at",
    "effects",
    "parent",
    "waiting_on",
    "rollback",
    "tokens",
    "cost",
}
# What the log does not tell, or not of every thread.
NOT_OF_THREAD = {
    "id": "what the rows of a thread name; another one leaves them behind",
    "status_since": "for the order of lists",
    "status_reason": "for people; the event says it too",
    "wake_at": "when it goes on; no history",
    "wake_seq": "a counter between workers",
    "wish": "what was asked of the worker; no history",
    "wish_by": "who asked it",
    "version": "a counter for who decides on what they saw",
    "prev_hash": "a copy for the trigger, of the last statement only",
    "last_at": "a copy of the last event's time",
    "lease_owner": "who works on it now",
    "lease_token": "who works on it now",
    "lease_until": "who works on it now",
    "fence": "a counter for people",
    "crash_count": "how often it was taken over; no history",
    "tokens_saved": "a sum; no event tells it",
    "created_at": "for the order of lists",
}
TABLES = {
    "gp_event": "thread_id",
    "gp_checkpoint": "thread_id",
    "gp_content": "thread_id",
    "gp_activity": "thread_id",
    "gp_approval": "thread_id",
    "gp_decision": "approval_id",
}
# What a column may hold, where the database knows a list.
LISTS = {
    ("gp_thread", "status"): Status,
    ("gp_thread", "effects"): ("run", "ask"),
    ("gp_event", "kind"): EventKind,
    ("gp_checkpoint", "source"): CHECKPOINT_SOURCES,
    ("gp_activity", "state"): ACTIVITY_STATES,
    ("gp_activity", "kind"): ACTIVITY_KINDS,
    ("gp_approval", "status"): STATUSES,
    ("gp_approval", "what_next"): WHAT_NEXT,
    ("gp_decision", "verdict"): VERDICTS,
    ("gp_decision", "what_next"): WHAT_NEXT,
}
OTHER: dict[str, str] = {
    "uuid": "gen_random_uuid()",
    "character varying": "left(md5({c}), greatest(length({c}), 1))",
    "text": "{c} || 'x'",
    "integer": "{c} + 1000000",
    "bigint": "{c} + 1000000",
    "smallint": "{c} + 1000",
    "boolean": "NOT {c}",
    "bytea": "sha256({c})",
    "ARRAY": "{c} || 'user:99'::text",
    "jsonb": "jsonb_build_object('was', {c})",
    "timestamp with time zone": "{c} + interval '1 microsecond'",
    "numeric": "{c} + 1",
    "double precision": "{c} + 1",
}
SOME: dict[str, str] = {
    "uuid": "gen_random_uuid()",
    "bytea": "sha256('x')",
    "jsonb": "'{\"x\": 1}'::jsonb",
    "timestamp with time zone": "clock_timestamp()",
}


@pytest.fixture
def unguarded() -> Iterator[None]:
    """Somebody with all rights, past every trigger."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        yield
        cursor.execute("SET session_replication_role = DEFAULT")


def _mine(table: str) -> str:
    if table == "gp_decision":
        return "approval_id IN (SELECT id FROM gp_approval WHERE thread_id = %s::uuid)"
    return "thread_id = %s::uuid"


def _changes(table: str, column: str, kind: str, *, empty: bool) -> list[str]:
    if (table, column) in LISTS:
        words = list(LISTS[table, column])
        # Two neighbours, so that one of them differs from what is there.
        return [f"'{word}'" for word in (words if len(words) < 10 else words[10:12])]
    if empty:
        return [SOME.get(kind, "1" if "int" in kind else "'x'")]
    changed = [OTHER[kind].format(c=column)]
    # A neighbour may fit where a stranger does not.
    return [*changed, f"{column} + 1", f"{column} - 1"] if "int" in kind else changed


def _altered(table: str, column: str, kind: str, thread: UUID) -> Iterator[str]:
    """Alter the column in each row of the thread in turn, and take it back; what it was."""
    places = rows(
        f"SELECT ctid::text, {column} IS NULL FROM {table} WHERE {_mine(table)}", [thread]
    )
    # A long log is all of one kind: some of its rows, others for each column.
    every = max(1, len(places) // 12)
    for ctid, empty in places[len(column) % every :: every]:
        for change in _changes(table, column, kind, empty=empty):
            with transaction.atomic():
                try:
                    altered = rows(
                        f"UPDATE {table} SET {column} = {change} WHERE ctid = %s::tid "
                        f"AND {column} IS DISTINCT FROM {change} RETURNING 1",
                        [ctid],
                    )
                except IntegrityError:
                    altered = []  # a neighbour stands there: no right goes past a unique index
                    transaction.set_rollback(True)
                if altered:
                    yield f"{table}.{column} = {change}"
                transaction.set_rollback(True)


def columns_of(table: str) -> list[tuple[str, str]]:
    """(name, type) of each column as the database has it."""
    return [
        (name, kind)
        for name, kind in rows(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = %s AND table_schema = 'public' ORDER BY ordinal_position",
            [table],
        )
    ]


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", TABLES)
def test_whatever_column_is_altered_is_found(table: str, lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    unseen, tried = [], set()
    for column, kind in columns_of(table):
        if (table, column) in FREE:
            continue
        for what in _altered(table, column, kind, thread):
            tried.add(column)
            report = verify(thread, files=False)
            if report.intact:
                unseen.append(what)
            else:
                assert report.first_broken_seq is not None  # a first event can be set to 0
                assert report.what.startswith(f"Event {report.first_broken_seq}: ")
    assert not unseen, sorted(set(unseen))
    covered = {column for column, _ in columns_of(table) if (table, column) not in FREE}
    assert tried == covered, "each column that is not free was altered at least once"


def test_each_column_of_the_thread_row_is_covered_or_said_not_to_be() -> None:
    columns = {field.column for field in Thread._meta.concrete_fields}
    assert not OF_THREAD & set(NOT_OF_THREAD)
    assert columns == OF_THREAD | set(NOT_OF_THREAD)


@pytest.mark.requirement("E11")
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("column", sorted(OF_THREAD))
def test_what_the_log_tells_of_the_thread_row_is_found(
    column: str, lived: tuple[Bench, UUID]
) -> None:
    _, thread = lived
    kind = dict(columns_of("gp_thread"))[column]
    ((empty,),) = rows(f"SELECT {column} IS NULL FROM gp_thread WHERE id = %s", [thread])
    for change in _changes("gp_thread", column, kind, empty=empty):
        with transaction.atomic():
            changed = rows(
                f"UPDATE gp_thread SET {column} = {change} WHERE id = %s "
                f"AND {column} IS DISTINCT FROM {change} RETURNING 1",
                [thread],
            )
            if not changed:
                continue
            report = verify(thread, files=False)
            assert not report.intact, change
            assert report.what.startswith(f"Event {report.first_broken_seq}: ")
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    ("leave_by", "waiting_on"),
    [
        (EventKind.THREAD_SUSPENDED, {"titles": ["Pay?"]}),
        (EventKind.THREAD_PARKED, {"kind": "person"}),
        (EventKind.THREAD_SLEPT, {"until": "later"}),
    ],
)
def test_what_a_thread_waits_for_is_not_taken_away(
    db: None, leave_by: EventKind, waiting_on: Any
) -> None:
    work = drive(make_thread(), 1).work
    more = {"wake_at_seconds": 60.0} if leave_by == EventKind.THREAD_SLEPT else {}
    store.leave(work, leave_by, waiting_on=waiting_on, **more)
    assert verify(work.thread).intact
    rows("UPDATE gp_thread SET waiting_on = NULL WHERE id = %s RETURNING 1", [work.thread])
    assert "what the thread waits for is not what the log tells of" in verify(work.thread).what


def test_an_edit_answers_what_a_thread_waits_for(db: None) -> None:
    work = drive(make_thread(), 1).work
    store.leave(work, EventKind.THREAD_PARKED, waiting_on={"kind": "person"})
    store.edit(work.thread, changes={"goal": "other"}, reason="better", actor="user:1")
    assert rows("SELECT status, waiting_on FROM gp_thread WHERE id = %s", [work.thread]) == [
        ("attention", None)
    ]
    assert verify(work.thread).intact


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("how", [EventKind.THREAD_SUCCEEDED, EventKind.THREAD_FAILED])
def test_a_thread_that_has_ended_keeps_its_end(db: None, how: EventKind) -> None:
    thread = make_thread()
    drive(thread, 2).step(leave_by=how)
    store.wake(thread, event=store.NewEvent(EventKind.THREAD_WOKEN, {}, "sweep"))  # moves nothing
    assert verify(thread, files=False).intact
    ended = how.rpartition(".")[2]
    for status in Status:
        rows("UPDATE gp_thread SET status = %s WHERE id = %s", [status, thread])
        report = verify(thread, files=False)
        assert report.intact == (status == ended)
        assert report.intact or "the thread's status" in report.what


@pytest.mark.usefixtures("unguarded")
def test_a_fork_is_bound_to_its_code_and_agent(db: None) -> None:
    base = make_thread()
    drive(base, 3)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OPERATOR, title="Other")
    drive(fork, 2)
    assert verify(fork, files=False).intact
    for change in ("agent = 'x'", "agent_version_id = gen_random_uuid()", "n_steps = 5"):
        with transaction.atomic():
            rows(f"UPDATE gp_thread SET {change} WHERE id = %s", [fork])
            assert "is not what the log tells of" in verify(fork, files=False).what
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
def test_a_result_that_was_made_to_be_called_again_is_found(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    done = rows(
        "SELECT id FROM gp_activity WHERE thread_id = %s AND state = 'done' AND kind <> 'effect'",
        [thread],
    )
    assert done
    for (ident,) in done:
        with transaction.atomic():
            rows(
                "UPDATE gp_activity SET state = 'started', attempts = attempts + 1, result = NULL, "
                "result_hash = NULL, usage = NULL, finished_at = NULL, cursor = '[1]' "
                "WHERE id = %s",
                [ident],
            )
            report = verify(thread, files=False)
            assert "was done, and was begun again" in report.what
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("state", ["started", "failed", "unknown", "done"])
def test_an_effect_is_not_hidden_as_a_call_at_work(db: None, state: str) -> None:
    thread = make_thread()
    ident = effect(drive(thread, 1).work, "mail#0", state=state)
    assert verify(thread, files=False).intact
    # Such a row would need no event, and nobody would be asked whether the mail was sent.
    rows(
        "UPDATE gp_activity SET kind = 'activity', state = 'started', attempts = attempts + 1, "
        "result = NULL, result_hash = NULL, usage = NULL, finished_at = NULL, error = '' "
        "WHERE id = %s",
        [ident],
    )
    report = verify(thread, files=False)
    assert not report.intact
    assert report.first_broken_seq
    assert "became another" in report.what or state == "done"


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    "change", ["branch = branch + 7", "step = 90", "node = 'x'", "key = 'x#0'", "index = 3"]
)
def test_a_failed_call_that_is_called_again_stays_where_it_was(db: None, change: str) -> None:
    thread = make_thread()
    work = drive(thread, 1).work
    failed = new_activity(work, "look#0")
    store.record_activity(work, failed, error="no answer")
    again = replace(failed, attempts=2)
    store.keep_cursor(work, again, cursor=b'{"page":1}')
    assert verify(thread, files=False).intact
    rows(f"UPDATE gp_activity SET {change} WHERE id = %s", [failed.id])
    assert "became another" in verify(thread, files=False).what


# What a call that is at work has: the FREE columns, and what only the next event will seal.
AT_WORK = {
    "args": "'[7]'",
    "salt": "sha256(salt)",
    "input_hash": "sha256(input_hash)",
    "workspace_id": "gen_random_uuid()",
    "result": "'7'",
    "result_hash": "sha256('7')",
    "usage": "'{}'",
    "undo_result": "'7'",
    "approval_id": "gen_random_uuid()",
    "finished_at": "clock_timestamp()",
    "error": "'x'",
    "state": "'done'",
    "kind": "'effect'",
}


@pytest.mark.usefixtures("unguarded")
def test_what_is_at_work_fits_itself(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    names = [name for name, _ in columns_of("gp_activity")]
    other = {
        "id": "gen_random_uuid()",
        "revision": "revision + 50",
        "state": "'started'",
        **dict.fromkeys(
            ("result", "result_hash", "usage", "undo_result", "approval_id", "finished_at"), "NULL"
        ),
    }
    picked = ", ".join(other.get(name, f'"{name}"') for name in names)
    (ident,) = rows(
        f"INSERT INTO gp_activity SELECT {picked} FROM gp_activity WHERE id = (SELECT id "
        "FROM gp_activity WHERE thread_id = %s AND state = 'done' AND kind <> 'effect' LIMIT 1) "
        "RETURNING id",
        [thread],
    )[0]
    assert verify(thread, files=False).intact, "merely at work"
    for column, change in AT_WORK.items():
        with transaction.atomic():
            rows(f"UPDATE gp_activity SET {column} = {change} WHERE id = %s", [ident])
            report = verify(thread, files=False)
            assert not report.intact, column
            assert report.first_broken_seq
            transaction.set_rollback(True)


def test_the_free_columns_exist_and_are_published() -> None:
    said = (ROOT / "docs/howto/commands.md").read_text()
    for table, column in FREE:
        assert f"`{column}`" in said
        assert column in dict(columns_of(table)), f"{table}.{column} is free and does not exist"


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", ["gp_activity", "gp_approval", "gp_decision"])
def test_lost_and_added_rows_are_found(table: str, lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    places = [r[0] for r in rows(f"SELECT id FROM {table} WHERE {_mine(table)}", [thread])]
    assert places
    for ident in places:
        with transaction.atomic():
            rows(f"DELETE FROM {table} WHERE id = %s::uuid", [ident])
            assert not verify(thread, files=False).intact
            transaction.set_rollback(True)
        names = [name for name, _ in columns_of(table)]
        values = {"id": "gen_random_uuid()", "revision": "revision + 50", "approval_id": "NULL"}
        if table == "gp_decision":
            values.pop("approval_id")
        picked = ", ".join(values.get(name, f'"{name}"') for name in names)
        with transaction.atomic():
            rows(f"INSERT INTO {table} SELECT {picked} FROM {table} WHERE id = %s::uuid", [ident])
            assert not verify(thread, files=False).intact
            transaction.set_rollback(True)


_ONE = "(SELECT id FROM {t} WHERE thread_id = %(a)s ORDER BY id LIMIT 1)"
MOVED = {
    "an event": "UPDATE gp_event SET thread_id = %(b)s, seq = seq + 1000 "
    "WHERE thread_id = %(a)s AND seq = 7",
    "the last event": "UPDATE gp_event SET thread_id = %(b)s, seq = (SELECT last_seq + 1 "
    "FROM gp_thread WHERE id = %(b)s) WHERE thread_id = %(a)s AND seq = (SELECT last_seq "
    "FROM gp_thread WHERE id = %(a)s)",
    "an activity": "UPDATE gp_activity SET thread_id = %(b)s, branch = 90 WHERE id = "
    + _ONE.format(t="gp_activity"),
    "a request": "UPDATE gp_approval SET thread_id = %(b)s, branch = 90 WHERE id = "
    + _ONE.format(t="gp_approval"),
    "a decision": "UPDATE gp_decision SET approval_id = (SELECT id FROM gp_approval "
    "WHERE thread_id = %(b)s) WHERE id = (SELECT d.id FROM gp_decision d JOIN gp_approval a "
    "ON a.id = d.approval_id WHERE a.thread_id = %(a)s ORDER BY d.id LIMIT 1)",
    "a content": "UPDATE gp_content SET thread_id = %(b)s WHERE thread_id = %(a)s",
}


@pytest.mark.usefixtures("unguarded")
def test_what_is_moved_to_another_thread_is_missed_here_and_found_there(
    lived: tuple[Bench, UUID],
) -> None:
    bench, thread = lived
    other = bench.start(goal="tea", rounds=2)
    bench.advance(other)
    assert verify(other, files=False).intact
    for what, sql in MOVED.items():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, {"a": thread, "b": other})
            assert cursor.rowcount == 1, what
            for one in (thread, other):
                report = verify(one, files=False)
                assert (report.ident, report.intact) == (one, False), what
                assert report.first_broken_seq, what
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
def test_lost_and_added_contents_are_found(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    ((sha,),) = rows("SELECT sha256 FROM gp_content WHERE thread_id = %s", [thread])
    for change, said in (
        ("DELETE FROM gp_content WHERE thread_id = %s", f"({sha[:12]}) is missing"),
        ("UPDATE gp_content SET body = replace(body, 'long', 'wrong') WHERE thread_id = %s", "fit"),
        (
            "INSERT INTO gp_content (thread_id, sha256, workspace_id, body) "
            "SELECT thread_id, repeat('a', 64), workspace_id, body FROM gp_content "
            "WHERE thread_id = %s",
            "no checkpoint names the content aaaa",
        ),
    ):
        with transaction.atomic():
            rows(change, [thread])
            report = verify(thread, files=False)
            assert not report.intact
            assert report.ident == thread
            assert said in report.what
            assert said.startswith("no ") or re.search(r"checkpoint \d+ is not whole", report.what)
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
def test_altered_and_lost_files_are_found(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    (path,) = (r[0] for r in rows("SELECT path FROM gp_artifact WHERE name = 'list.csv'"))
    place = Path(default_storage.path(path))
    good = place.read_bytes()
    try:
        place.chmod(0o600)
        place.write_bytes(good.replace(b"1", b"7"))
        report = verify(thread)
        assert "the bytes of the file 'list.csv' were altered" in report.what
        assert verify(thread, files=False).intact
        place.unlink()
        assert "cannot be read" in verify(thread).what
    finally:
        place.write_bytes(good)
    rows("DELETE FROM gp_artifact WHERE path = %s", [path])
    assert "nothing is known of the file" in verify(thread).what


def test_a_thread_that_moves_meanwhile_is_intact(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    left = [3]

    def write(_seen: int) -> None:
        if left[0]:
            left[0] -= 1
            store.add_event(thread, store.NewEvent(EventKind.VALUE_RECORDED, {"v": 1}, "user:1"))

    before = queries.events_after(thread, 0)[-1].seq
    report = verify(thread, seen=write)
    assert report.intact, report.what
    assert report.n_events > before
    assert left == [0] or report.n_events == before + 3 - left[0]


def test_unknown_threads_are_told(db: None) -> None:
    from checkpoints.errors import NotFound

    with pytest.raises(NotFound):
        verify(uuid4())
