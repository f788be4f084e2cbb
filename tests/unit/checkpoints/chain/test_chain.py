"""The hash chain: it holds for honest threads and names the place for every kind of tampering."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints import chain, store
from checkpoints.chain import ChainReport, verify_thread
from checkpoints.errors import NotFound
from checkpoints.states import EventKind
from tests.unit.checkpoints.builders import OPERATOR, drive, head_of, make_thread, one, rows
from tests.unit.checkpoints.strategies import values

pytestmark = pytest.mark.django_db
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def tampering() -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    """Statements of somebody with all rights, past every trigger."""
    rows("SET session_replication_role = replica")
    try:
        yield rows
    finally:
        rows("SET session_replication_role = DEFAULT")


def broken(thread: UUID) -> ChainReport:
    report = verify_thread(thread)
    assert not report.intact
    return report


@pytest.mark.slow
@given(
    seq=st.integers(1, 2**62),
    kind=st.sampled_from(list(EventKind)),
    actor=st.text(st.characters(exclude_characters="\0|", codec="utf-8"), max_size=20),
    at=st.integers(0, 7 * 10**15).map(
        lambda microseconds: EPOCH + timedelta(microseconds=microseconds)
    ),
    data_hash=st.binary(min_size=32, max_size=32),
    prev_hash=st.binary(min_size=32, max_size=32),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_python_and_the_database_hash_the_same_text(db: None, **e: Any) -> None:
    ident = uuid4()
    row = one(
        "SELECT gp_link(%s::uuid, %s::bigint, %s::text, 1, %s::text, %s::timestamptz, "
        "%s::bytea, %s::bytea)",
        (ident, e["seq"], str(e["kind"]), e["actor"], e["at"], e["data_hash"], e["prev_hash"]),
    )
    assert bytes(row) == chain.link(chain=ident, v=1, **e | {"kind": str(e["kind"])})


@pytest.mark.requirement("A20")
def test_a_thread_that_lived_through_everything_is_intact() -> None:
    thread = make_thread()
    driver = drive(thread, 4)
    second = driver.step({"set": {"goal": "x"}, "merge": {"facts": {"a": 1e22}}})
    driver.step(events=[store.NewEvent(EventKind.THOUGHT_RECORDED, {"text": "é 😀"}, "worker:1")])
    store.write_keyframe(thread, driver.work.number, driver.state)
    driver.step(leave_by=EventKind.THREAD_PAUSED)
    store.edit(thread, changes={"total": 5}, reason="", actor=OPERATOR)
    store.roll_back(
        thread, checkpoint=second, undo=(), reason="", actor=OPERATOR, head=head_of(thread)
    )
    drive(thread).finish_rollback(run_on=True)
    drive(thread, 3)
    fork = store.fork(thread, checkpoint=second, changes={"goal": "other"}, actor=OPERATOR)
    drive(fork, 3)
    for ident in (thread, fork):
        report = verify_thread(ident)
        assert report == ChainReport(
            ident,
            True,
            one("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (ident,)),
            None,
            "",
        )
        assert report.n_events > 4
    with pytest.raises(NotFound):
        verify_thread(uuid4())


@pytest.mark.slow
@given(state=st.dictionaries(st.sampled_from("abc"), values))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_json_a_thread_holds_it_is_intact(db: None, state: dict[str, Any]) -> None:
    thread = make_thread(input=state)
    drive(thread).step({"set": {"d": state}})
    store.add_event(thread, store.NewEvent(EventKind.VALUE_RECORDED, {"v": state}, OPERATOR))
    report = verify_thread(thread)
    assert report.intact, report.what


EVENTS = {
    "data": ("data = data || '{\"step\": 77}'", "data do not match"),
    "whitespace is not enough, but a key is": (
        "data = data || '{\"x\": null}'",
        "data do not match",
    ),
    "salt": ("salt = sha256(salt)", "data do not match"),
    "data_hash": ("data_hash = sha256(data_hash)", "data do not match"),
    "kind": ("kind = 'thread.succeeded'", "does not match its hash"),
    "actor": ("actor = 'user:2'", "does not match its hash"),
    "time": ("at = at + interval '1 microsecond'", "does not match its hash"),
    "version": ("v = v + 1", "does not match its hash"),
    "hash": ("hash = sha256(hash)", "does not match its hash"),
    "prev_hash": ("prev_hash = sha256(prev_hash)", "does not continue"),
    "data with salt and hash made anew": (
        "salt = '', data = '{}', data_hash = sha256('{}')",
        "does not match its hash",
    ),
}


@pytest.mark.parametrize(("change", "words"), EVENTS.values(), ids=EVENTS)
def test_an_edited_event_is_found_with_its_number(change: str, words: str) -> None:
    thread = make_thread()
    drive(thread, 5)
    with tampering() as run:
        run(f"UPDATE gp_event SET {change} WHERE thread_id = %s::uuid AND seq = 4", (thread,))
    report = broken(thread)
    assert (report.first_broken_seq, report.n_events) == (4, 3)
    assert words in report.what


def test_an_event_made_anew_with_its_own_hash_is_found_at_the_next() -> None:
    thread = make_thread()
    drive(thread, 5)
    with tampering() as run:
        run(
            "UPDATE gp_event e SET actor = 'user:2', hash = gp_link(th.chain_id, e.seq, e.kind, "
            "e.v, 'user:2', e.at, e.data_hash, e.prev_hash) FROM gp_thread th "
            "WHERE th.id = e.thread_id AND e.thread_id = %s::uuid AND e.seq = 2",
            (thread,),
        )
    report = broken(thread)
    assert report.first_broken_seq == 3
    assert "does not continue" in report.what


def test_deleted_swapped_and_cut_events_are_found() -> None:
    for seqs, where in (("(3)", 3), ("(1)", 1), ("(7)", 7), ("(6), (7)", 6)):
        thread = make_thread()
        drive(thread, 5)  # started, acquired, five commits
        with tampering() as run:
            run(
                f"DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq IN (VALUES {seqs})",
                (thread,),
            )
        report = broken(thread)
        assert report.first_broken_seq == where
        assert "missing" in report.what
    thread = make_thread()
    drive(thread, 5)
    with tampering() as run:
        for old, new in ((3, 100), (4, 3), (100, 4)):
            run(
                "UPDATE gp_event SET seq = %s::bigint WHERE thread_id = %s::uuid "
                "AND seq = %s::bigint",
                (new, thread, old),
            )
    assert broken(thread).first_broken_seq == 3


def test_added_events_and_a_changed_thread_row_are_found() -> None:
    copy = (
        "INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, "
        "data_hash, at, prev_hash, hash) SELECT thread_id, workspace_id, %s::bigint, kind, v, "
        "actor, data, salt, data_hash, at, prev_hash, hash FROM gp_event "
        "WHERE thread_id = %s::uuid AND seq = 3"
    )
    for seq, where in ((8, 8), (0, 0), (-5, -5)):
        thread = make_thread()
        drive(thread, 5)
        rows(copy, (seq, thread))
        assert broken(thread).first_broken_seq == where
    for change in ("last_hash = prev_hash", "head = gen_random_uuid()", "step = 2", "number = 4"):
        thread = make_thread()
        drive(thread, 5)
        rows(f"UPDATE gp_thread SET {change} WHERE id = %s::uuid", (thread,))
        assert broken(thread).first_broken_seq == 7
    thread = make_thread()
    drive(thread, 5)
    rows("UPDATE gp_thread SET last_seq = 6 WHERE id = %s::uuid", (thread,))
    assert broken(thread).first_broken_seq == 7


CHECKPOINTS = {
    "delta": ('delta = \'{"append": {"log": [9]}}\'', "delta of its checkpoint"),
    "salt": ("salt = sha256(salt)", "delta of its checkpoint"),
    "state_hash": ("state_hash = sha256(state_hash)", "missing or was altered"),
    "delta_hash": ("delta_hash = sha256(delta_hash)", "missing or was altered"),
    "next": ("next_nodes = '[\"pay\"]'", "missing or was altered"),
    "step": ("step = 9", "missing or was altered"),
    "author": ("created_by = 'user:2'", "author or time"),
    "time": ("created_at = created_at - interval '1 day'", "author or time"),
    "size": ("state_bytes = 1", "does not match its hash"),
    "way": ("parent_number = 0", "does not continue"),
    "branch": ("branch_start = number", "checkpoint's parent was altered"),
    "all that names the delta": (
        "salt = '', delta = '{}', delta_hash = sha256('{}')",
        "missing or was altered",
    ),
}


@pytest.mark.parametrize(("change", "words"), CHECKPOINTS.values(), ids=CHECKPOINTS)
@pytest.mark.altered
def test_an_edited_checkpoint_is_found_at_the_event_that_names_it(change: str, words: str) -> None:
    thread = make_thread()
    drive(thread, 5)
    if change.startswith("branch_start"):  # reading on from another base is what this would do
        change += ", parent_thread = NULL"
    with tampering() as run:
        run(
            f"UPDATE gp_checkpoint SET {change} WHERE thread_id = %s::uuid AND number = 3",
            (thread,),
        )
    report = broken(thread)
    assert report.first_broken_seq == 5  # started, acquired, number 1, 2, then 3
    assert words in report.what


def test_deleted_and_added_checkpoints_are_found() -> None:
    for number, where in ((0, 1), (3, 5), (5, 7)):
        thread = make_thread()
        drive(thread, 5)
        with tampering() as run:
            run(
                "DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = %s::integer",
                (thread, number),
            )
        assert broken(thread).first_broken_seq == where
    thread = make_thread()
    drive(thread, 5)
    rows(
        "INSERT INTO gp_checkpoint SELECT (jsonb_populate_record(c, jsonb_build_object("
        "'id', gen_random_uuid(), 'number', 6))).* FROM gp_checkpoint c "
        "WHERE thread_id = %s::uuid AND number = 5",
        (thread,),
    )
    report = broken(thread)
    assert (report.first_broken_seq, "no event names" in report.what) == (7, True)


def test_a_false_keyframe_is_found() -> None:
    thread = make_thread()
    driver = drive(thread, 3)
    store.write_keyframe(thread, 2, driver.state)
    report = broken(thread)
    assert report.first_broken_seq == 4
    assert "cached" in report.what
    for text, what in (
        ("no JSON", "not a state"),
        ("[7]", "not a state"),
        ('{"a": 1, "a": 2}', "does not match its hash"),
    ):
        rows(
            "UPDATE gp_keyframe SET state = %s WHERE thread_id = %s::uuid AND number = 2",
            (text, thread),
        )
        assert what in broken(thread).what


@pytest.mark.altered
def test_a_fork_proves_the_past_it_shares() -> None:
    base = make_thread()
    drive(base, 3)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OPERATOR)
    with tampering() as run:
        run(
            "UPDATE gp_checkpoint SET delta = '{}' WHERE thread_id = %s::uuid AND number = 1",
            (base,),
        )
    assert "state at its checkpoint" in broken(fork).what
    other = make_thread()
    drive(other, 3)
    fork = store.fork(other, checkpoint=head_of(other), changes={}, actor=OPERATOR)
    with tampering() as run:
        run(
            "UPDATE gp_event SET hash = sha256(hash) WHERE thread_id = %s::uuid AND seq = 5",
            (other,),
        )
    report = broken(fork)
    assert (report.first_broken_seq, "forked from" in report.what) == (1, True)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_the_thread() -> None:
    peaks = []
    for steps in (300, 900):
        thread = make_thread()
        driver = drive(thread)
        for _ in range(steps):
            driver.step({"set": {"goal": "x" * 1_000}})
        # The least of some: what other threads of this process do meanwhile counts as well.
        peaks.append(min(peak_of_verifying(thread) for _ in range(3)))
    assert peaks[1] < 1.3 * peaks[0]


def peak_of_verifying(thread: UUID) -> int:
    """The most bytes that were in use at once."""
    connection.queries_log.clear()
    tracemalloc.start()
    report = verify_thread(thread)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.intact
    return peak


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (EventKind.ACTIVITY_FINISHED, {"activity": "no id"}),
        (EventKind.EFFECT_STARTED, {"activity": 7}),
        (EventKind.EFFECT_SETTLED, {"activity": None, "seal": 1}),
        (EventKind.COMPENSATION_FINISHED, {"activity": []}),
        (EventKind.THREAD_IMPORTED, {}),
        (EventKind.THREAD_FORKED, {"checkpoint": 1}),
        (EventKind.CHECKPOINT_COMMITTED, {"checkpoint": []}),
    ],
    ids=lambda value: str(value),
)
def test_what_was_chained_anew_in_no_known_form_is_broken_and_stops_nobody(
    kind: EventKind, data: dict[str, Any]
) -> None:
    thread = make_thread()
    drive(thread, 2)
    store.add_event(thread, store.NewEvent(kind, data, OPERATOR))
    report = broken(thread)
    assert report.first_broken_seq == one(
        "SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (thread,)
    )
    assert report.what.startswith(f"Event {report.first_broken_seq}: ")
