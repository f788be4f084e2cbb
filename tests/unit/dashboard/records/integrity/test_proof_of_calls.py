"""Verifying covers calls: made to be called again, failed, at work."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from django.db import transaction

from approvals.verification.proof import verify
from checkpoints import store
from tests.unit.checkpoints.builders import (
    drive,
    effect,
    make_thread,
    new_activity,
    rows,
)
from tests.unit.workers.conftest import Bench

from .altered_columns import FREE, columns_of, unguarded  # noqa: F401

pytestmark = pytest.mark.django_db


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
