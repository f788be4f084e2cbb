"""What was written stays as it was written: the database refuses to change or remove it."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import Error, transaction

from approvals import gates
from approvals.gates import Proposal, Reviewer
from checkpoints import store
from checkpoints.records import Position
from tests.unit.checkpoints.builders import acquired, drive, make_thread, make_workspace, one, rows

pytestmark = pytest.mark.django_db
LOGS = ("gp_event", "gp_checkpoint", "gp_decision", "gp_agent_version", "gp_workspace_event")
UNDELETABLE = ("gp_thread", "gp_approval", "gp_workspace")


@pytest.fixture
def decided() -> UUID:
    """A thread with events, checkpoints and a decision, in a workspace with a log."""
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    driver = drive(thread, 2)
    gate = Proposal(Position(0, 3, "publish", 0, "publish#0"), "gate", "publish", {}, "Publish?")
    assert gates.request(driver.work, [gate])
    [(ident, digest)] = rows("SELECT id, proposal_hash FROM gp_approval")
    gates.decide(
        ident,
        workspace=workspace,
        reviewer=Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=digest,
    )
    rows("SET CONSTRAINTS ALL IMMEDIATE")  # else TRUNCATE is refused for waiting checks already
    return thread


def refused(statement: str) -> str:
    with pytest.raises(Error) as caught, transaction.atomic():
        rows(statement)
    return str(caught.value)


@pytest.mark.requirement("A21")
@pytest.mark.parametrize("table", LOGS)
def test_logs_refuse_change_and_removal(decided: UUID, table: str) -> None:
    columns = [
        name
        for (name,) in rows(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s::text",
            (table,),
        )
    ]
    before = one(f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {table} x")
    assert before is not None
    assert len(columns) > 5
    for column in columns:
        assert "append-only" in refused(f"UPDATE {table} SET {column} = {column}")
    assert "append-only" in refused(f"DELETE FROM {table}")
    statement = f"TRUNCATE {table}" + (" CASCADE" if table == "gp_agent_version" else "")
    assert "append-only" in refused(statement)
    # A row that is there cannot be written over by an insert either.
    assert refused(f"INSERT INTO {table} SELECT * FROM {table}")
    after = one(f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {table} x")
    assert after == before


@pytest.mark.parametrize("table", UNDELETABLE)
def test_threads_and_approvals_cannot_be_removed(decided: UUID, table: str) -> None:
    assert "append-only" in refused(f"DELETE FROM {table}")
    assert "append-only" in refused(f"TRUNCATE {table} CASCADE")
    assert one(f"SELECT count(*) FROM {table}") == 1


def test_events_take_no_actor_or_kind_that_could_forge_the_chain_text(decided: UUID) -> None:
    for column, value in (("actor", "user:1|7"), ("kind", "a|b"), ("kind", "thread started")):
        assert "gp_event_" in refused(
            "INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, "
            "data_hash, at, prev_hash, hash) SELECT thread_id, workspace_id, seq + 1000, "
            + ", ".join(f"'{value}'" if c == column else c for c in ("kind", "v", "actor"))
            + ", data, salt, data_hash, at, prev_hash, hash FROM gp_event WHERE seq = 1"
        )


def test_a_cache_may_be_emptied_at_any_time() -> None:
    thread = make_thread()
    driver = drive(thread, 3)
    store.write_keyframe(thread, 2, {"goal": "x"})
    rows("DELETE FROM gp_keyframe")
    driver.step()
    store.hand_back(driver.work, reason="")
    assert acquired(thread).number == 4
