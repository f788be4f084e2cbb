"""Content goes from every table; ids, order, times, hashes and so the proof stay."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import DatabaseError, transaction

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import ContentErased, NotAllowedNow, SamePerson
from checkpoints.queries.erasures import requests as erasures
from checkpoints.queries.states import materialized
from checkpoints.states import Status
from tests.unit.checkpoints.builders import (
    bring_to,
    drive,
    head_of,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
    status_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G02")]

ASKER, OTHER = "user:7/token:abc", "user:8"
WHY = "The customer withdrew consent."


def finished(workspace: UUID) -> UUID:
    thread = make_thread(workspace=workspace)
    bring_to(thread, Status.SUCCEEDED)
    return thread


def request(thread: UUID, workspace: UUID, scope: str = "thread") -> erasures.ErasureRow:
    return store.request_erasure(
        thread, workspace=workspace, scope=scope, reason=WHY, actor=ASKER, name="Olga"
    )


def approve(row: erasures.ErasureRow) -> erasures.ErasureRow:
    store.decide_erasure(
        row.id, workspace=row.workspace, approve=True, actor=OTHER, name="Adam", comment=""
    )
    return store.carry_out_erasure(row.id, workspace=row.workspace)


def test_content_goes_and_the_proof_stays() -> None:
    workspace = make_workspace()
    thread, beside = finished(workspace), finished(workspace)
    log = "SELECT seq, kind, at, hash FROM gp_event WHERE thread_id = %s ORDER BY seq"
    kinds = rows(log, (thread,))
    row = approve(request(thread, workspace))
    assert (row.state, row.n_threads, row.decided_by_name) == ("done", 1, "Adam")
    assert (row.n_rows >= 5, row.n_files) == (True, 0)
    assert rows(log, (thread,)) == kinds
    blank = one("SELECT count(*) FROM gp_event WHERE thread_id = %s AND salt <> ''", (thread,))
    assert blank == 0
    report = verify_thread(thread)
    assert report.intact, report.what
    assert report.erased == f"Erased by Olga (user:7), approved by Adam (user:8): {WHY}"
    assert report.n_events == len(kinds)
    other = verify_thread(beside)
    assert (other.intact, other.erased) == (True, "")
    assert verify_workspace(workspace).intact
    assert verify_workspace(workspace).what == ""
    shown = queries.thread(thread, workspace=workspace)
    assert shown.title == "Erased thread"
    assert shown.erased is not None
    assert shown.erased.sentence == f"Erased by Olga, approved by Adam: {WHY}"
    with pytest.raises(ContentErased, match="approved by Adam"):
        materialized.materialise(thread, shown.head)


def test_what_it_was_searched_by_goes_too() -> None:
    workspace = make_workspace()
    channels = {"customer": {"reducer": "last_value", "searchable": True}}
    agent = make_agent("seeker", channels=channels)
    thread = make_thread(workspace=workspace, agent=agent, input={"customer": "a secret name"})
    store.cancel(thread, actor=ASKER)
    approve(request(thread, workspace))
    assert rows("SELECT th::text FROM gp_thread th WHERE th::text LIKE '%%secret name%%'") == []
    report = verify_thread(thread)
    assert report.intact, report.what


def test_nobody_approves_what_they_requested() -> None:
    workspace = make_workspace()
    row = request(finished(workspace), workspace)
    with pytest.raises(SamePerson), transaction.atomic():
        store.decide_erasure(
            row.id, workspace=workspace, approve=True, actor="user:7", name="Olga", comment=""
        )
    with pytest.raises(DatabaseError, match="four_eyes"), transaction.atomic():
        rows("UPDATE gp_erasure SET state = 'approved', decided_by = 'user:7' RETURNING 1")


def test_what_still_runs_must_be_ended_first() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    row = request(thread, workspace)
    with pytest.raises(NotAllowedNow, match="not finished"), transaction.atomic():
        approve(row)
    store.cancel(thread, actor=OTHER)
    assert approve(row).state == "done"


def test_forks_and_children_go_with_it_and_a_family_goes_as_a_whole() -> None:
    workspace = make_workspace()
    base = finished(workspace)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OTHER)
    again = store.fork(fork, checkpoint=head_of(fork), changes={}, actor=OTHER)
    row = request(base, workspace)
    with (
        pytest.raises(NotAllowedNow, match="2 threads of it are not finished"),
        transaction.atomic(),
    ):
        approve(row)
    for thread in (fork, again):
        store.cancel(thread, actor=OTHER)
    assert set(erasures.selection(fork, workspace=workspace, scope="thread").ids) == {fork, again}
    row = approve(request(fork, workspace, "family"))
    assert (row.state, row.n_threads) == ("done", 3)
    for thread in (base, fork, again):
        report = verify_thread(thread)
        assert report.intact, report.what
        assert report.erased
    assert verify_workspace(workspace).intact


def test_a_fork_alone_leaves_its_base() -> None:
    workspace = make_workspace()
    base = finished(workspace)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OTHER)
    store.cancel(fork, actor=OTHER)
    assert approve(request(fork, workspace)).n_threads == 1
    assert materialized.materialise(base, head_of(base)).state
    assert verify_thread(base).intact
    assert verify_thread(base).erased == ""


def test_an_approval_holds_for_the_threads_that_were_requested() -> None:
    workspace = make_workspace()
    base = finished(workspace)
    row = request(base, workspace)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OTHER)
    with pytest.raises(NotAllowedNow, match="not finished"), transaction.atomic():
        approve(row)
    store.cancel(fork, actor=OTHER)
    with pytest.raises(NotAllowedNow, match="2 now, 1 when"), transaction.atomic():
        approve(row)
    store.decide_erasure(
        row.id, workspace=workspace, approve=False, actor=OTHER, name="Adam", comment="anew"
    )
    assert approve(request(base, workspace)).n_threads == 2


def test_a_legal_hold_stops_it() -> None:
    workspace = make_workspace()
    thread = finished(workspace)
    row = request(thread, workspace)
    store.set_hold(thread, workspace=workspace, reason="case 17", actor=OTHER)
    with pytest.raises(NotAllowedNow, match="case 17"), transaction.atomic():
        approve(row)
    with pytest.raises(NotAllowedNow, match="already"):
        store.set_hold(thread, workspace=workspace, reason="again", actor=OTHER)
    hold = store.lift_hold(thread, workspace=workspace, reason="closed", actor=OTHER)
    assert (hold.lifted_by, hold.lift_reason) == (OTHER, "closed")
    assert approve(row).state == "done"
    with pytest.raises(NotAllowedNow, match="too late"):
        store.set_hold(thread, workspace=workspace, reason="late", actor=OTHER)
    assert verify_workspace(workspace).intact


def test_a_closed_thread_takes_nothing() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    bring_to(thread, Status.FAILED)
    head = head_of(thread)
    approve(request(thread, workspace))
    before = one("SELECT to_jsonb(th)::text FROM gp_thread th WHERE id = %s", (thread,))
    tries = (
        lambda: store.retry(thread, actor=OTHER),
        lambda: store.edit(thread, changes={"goal": "x"}, reason="r", actor=OTHER),
        lambda: store.cancel(thread, actor=OTHER),
        lambda: store.pause(thread, actor=OTHER, before_node="a"),
        lambda: store.send_input(thread, message="x", actor=OTHER),
        lambda: store.fork(thread, checkpoint=head, changes={}, actor=OTHER),
        lambda: store.roll_back(
            thread, checkpoint=head, undo=[], head=head, reason="r", actor=OTHER
        ),
    )
    for attempt in tries:
        with pytest.raises((NotAllowedNow, ContentErased)), transaction.atomic():
            attempt()
    with pytest.raises(NotAllowedNow, match="closed"):
        request(thread, workspace)
    assert one("SELECT to_jsonb(th)::text FROM gp_thread th WHERE id = %s", (thread,)) == before
    assert status_of(thread) == Status.FAILED
    assert verify_thread(thread).intact


TAMPER = {
    "an event's content": "UPDATE gp_event SET data = '{}' WHERE thread_id = %s AND seq = 2",
    "an event's actor": "UPDATE gp_event SET actor = 'user:9' WHERE thread_id = %s AND seq = 2",
    "an event": "DELETE FROM gp_event WHERE thread_id = %s AND seq = 2",
    "the last event": "DELETE FROM gp_event WHERE thread_id = %s AND seq = "
    "(SELECT max(seq) FROM gp_event)",
    "a checkpoint's author": "UPDATE gp_checkpoint SET created_by = 'user:9' WHERE thread_id = %s",
    "a checkpoint's delta": "UPDATE gp_checkpoint SET delta = '{\"set\": {}}' WHERE thread_id = %s",
    "a checkpoint": "DELETE FROM gp_checkpoint WHERE thread_id = %s AND number = 0",
    "who started it": "UPDATE gp_thread SET started_by = 'user:9' WHERE id = %s",
    "its title": "UPDATE gp_thread SET title = 'Harmless' WHERE id = %s",
    "what it is searched by": "UPDATE gp_thread SET searchable = '{}' WHERE id = %s",
    "its mark": "UPDATE gp_thread SET erasure = NULL WHERE id = %s",
    "what was left": "UPDATE gp_erased SET remains = repeat('0', 64) WHERE id = %s",
    "the note of it": "DELETE FROM gp_erased WHERE id = %s",
    "the workspace's event": "UPDATE gp_workspace_event SET actor = 'user:9' "
    "WHERE data ->> 'thread' = %s::text AND kind = 'thread.erased'",
}


@pytest.mark.altered
@pytest.mark.parametrize("what", TAMPER)
def test_what_is_altered_afterwards_is_detected(what: str) -> None:
    workspace = make_workspace()
    thread = finished(workspace)
    drive(make_thread(workspace=workspace), 1)
    approve(request(thread, workspace))
    assert verify_thread(thread).intact
    rows("SET LOCAL session_replication_role = replica; SELECT 1")
    assert rows(f"WITH done AS ({TAMPER[what]} RETURNING 1) SELECT 1 FROM done", (thread,))
    report = verify_thread(thread)
    assert not report.intact, what


def test_guards_of_the_logs_let_nothing_else_pass() -> None:
    workspace = make_workspace()
    thread, beside = finished(workspace), finished(workspace)
    row = request(thread, workspace)
    with pytest.raises(DatabaseError, match="no approved erasure"), transaction.atomic():
        rows("SELECT gp_erase_history(%s)", (thread,))
    blank = "UPDATE gp_event SET data = '{\"$erased\": true}', salt = '' WHERE thread_id = %s"
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        rows(blank + " RETURNING 1", (thread,))
    store.decide_erasure(
        row.id, workspace=workspace, approve=True, actor=OTHER, name="Adam", comment=""
    )
    for sql in (
        "UPDATE gp_event SET data = '{}', salt = '' WHERE thread_id = %s",
        "UPDATE gp_event SET actor = 'user:9' WHERE thread_id = %s",
        "UPDATE gp_checkpoint SET delta = '{}' WHERE thread_id = %s",
        "DELETE FROM gp_event WHERE thread_id = %s",
        "DELETE FROM gp_checkpoint WHERE thread_id = %s",
    ):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            rows(sql + " RETURNING 1", (thread,))
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        rows(blank + " RETURNING 1", (beside,))
    assert store.carry_on_erasures() == 1
    assert erasures.erasure(row.id, workspace=workspace).state == "done"
    # Once it is done the guards are shut again.
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        rows(blank + " RETURNING 1", (thread,))
