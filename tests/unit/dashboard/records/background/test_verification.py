"""The worker's own verification: in slices, one at a time, nothing held in between."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.verification import proof
from checkpoints import queries, store
from checkpoints.chain import events as chain_events
from checkpoints.chain import installation
from dashboard.records.background import verification as background
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.test_verify import alter

END = "SELECT last_seq FROM gp_workspace WHERE id = %s"


def test_the_log_of_a_workspace_is_verified_in_slices_while_it_grows(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_events, "EVENTS_AT_ONCE", 3)
    monkeypatch.setattr(installation, "AT_ONCE", 3)
    n_of_installation = len(list(proof.installation_damage_in_slices()))
    (before,) = rows(END, [cast.workspace])[0]
    costs = []
    for cost in background.verify_everything(owner="worker:1", every_seconds=60):
        costs.append(cost)
        if len(costs) == n_of_installation + 2:
            # What steers changes between two slices: row and event are both newer than the rest.
            policies.make(cast.workspace, Draft("pay", "true", "ask"), actor="user:0")
            store.grant(cast.workspace, cast.users["nobody"].pk, "viewer", actor="user:0")
    (after,) = rows(END, [cast.workspace])[0]
    assert after >= before + 2
    result = queries.workspace_verification(cast.workspace)
    assert result is not None
    assert result.intact, result.what
    assert result.n_events == after
    n_slices = -(-before // 3)
    assert n_of_installation > n_slices > 2
    assert len(costs) > n_of_installation + n_slices
    assert max(costs[: n_of_installation + n_slices]) == 3


def test_a_worker_verifies_by_itself_and_one_at_a_time(
    real_db: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATEPOST_VERIFY_EVERY_SECONDS, settings.GATEPOST_VERIFY_EVENTS_PER_SECOND = 60.0, 100.0
    monkeypatch.setattr(chain_events, "EVENTS_AT_ONCE", 2)
    workspace = store.create_workspace("w", actor="user:0")
    thread = scene.waiting(workspace, scene.make_agent()).thread
    alter("UPDATE gp_event SET actor = 'user:999' WHERE thread_id = %s::uuid AND seq = 3", thread)
    at = connection.settings_dict
    address = f"host='{at['HOST']}' dbname={real_db} user={at['USER']}"
    rests: list[float] = []
    held: list[int] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        with psycopg.connect(address) as other:
            row = other.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' "
                "AND datname = current_database()"
            ).fetchone()
            held.append(0 if row is None else row[0])
        second.call("worker:other")
        second.join()

    first, second = background.Verifier(sleep=rest), background.Verifier(sleep=rests.append)
    first.call("worker:one")
    first.join()
    assert len(rests) == len(held) > 5, "in slices, and nobody else meanwhile"
    assert not any(held), "no transaction is open between two slices"
    assert max(rests) < 0.5
    result = queries.verification(thread)
    assert result is not None
    assert (result.intact, result.broken_seq, result.found_by) == (False, 3, "worker:one")
    assert queries.integrity(workspace=workspace).completed_at is not None
    first.call("worker:one")
    first.join()
    assert len(rests) == len(held), "not due again"
