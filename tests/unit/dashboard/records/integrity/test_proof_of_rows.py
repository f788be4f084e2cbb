"""Verifying covers rows, contents and files that are lost, added or moved."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.core.files.storage import default_storage
from django.db import connection, transaction

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.states import (
    EventKind,
)
from tests.unit.checkpoints.builders import (
    rows,
)
from tests.unit.workers.conftest import Bench

from .altered_columns import columns_of, own_rows, unguarded  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", ["gp_activity", "gp_approval", "gp_decision"])
def test_lost_and_added_rows_are_found(table: str, lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    places = [r[0] for r in rows(f"SELECT id FROM {table} WHERE {own_rows(table)}", [thread])]
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
    for change, message in (
        ("DELETE FROM gp_content WHERE thread_id = %s", f"({sha[:12]}) is missing"),
        (
            "UPDATE gp_content SET body = replace(body, 'long', 'wrong') WHERE thread_id = %s",
            "match its hash",
        ),
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
            assert message in report.what
            assert message.startswith("no ") or re.search(
                r"checkpoint \d+ is not whole", report.what
            )
            transaction.set_rollback(True)


@pytest.mark.usefixtures("unguarded")
def test_altered_and_lost_files_are_found(lived: tuple[Bench, UUID]) -> None:
    _, thread = lived
    (path,) = (r[0] for r in rows("SELECT path FROM gp_artifact WHERE name = 'list.csv'"))
    file = Path(default_storage.path(path))
    good = file.read_bytes()
    try:
        file.chmod(0o600)
        file.write_bytes(good.replace(b"1", b"7"))
        report = verify(thread)
        assert "the bytes of the file 'list.csv' were altered" in report.what
        assert verify(thread, files=False).intact
        file.unlink()
        assert "cannot be read" in verify(thread).what
    finally:
        file.write_bytes(good)
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
