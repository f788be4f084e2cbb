"""A researcher ends, and a writer goes on from its last checkpoint: shared, not copied."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread

from . import agents
from .conftest import Fleet, wait_until


@pytest.fixture(autouse=True)
def fresh() -> None:
    agents.looked.clear()
    agents.wrote.clear()


def successor(thread: UUID) -> UUID:
    (event,) = [e for e in queries.events_after(thread, 0) if e.kind == "thread.handed_off"]
    return UUID(event.data["thread"])


@pytest.mark.requirement("B31")
@pytest.mark.requirement("B32")
def test_the_writer_starts_from_the_last_checkpoint_of_the_researcher(fleet: Fleet) -> None:
    thread = fleet.start("researcher", goal="tea")
    fleet.work()
    row, heir = fleet.row(thread), fleet.row(successor(thread))
    assert (row.status, heir.status) == ("succeeded", "succeeded")
    assert (heir.agent, heir.base, heir.forked_from) == ("writer", thread, row.head)
    assert fleet.state(heir.id) == {
        "goal": "tea",
        "findings": ["tea grows", "handed over"],
        "tone": "warm",
        "text": "WARM: TEA GROWS, HANDED OVER",
        "fails": False,
    }
    # By reference: what both have is not in the first delta.
    first = queries.checkpoint_by_number(heir.id, 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT delta::text FROM gp_checkpoint WHERE id = %s", (first.id,))
        assert json.loads(cursor.fetchone()[0]) == {
            "set": {"tone": "warm", "text": "", "fails": False},
            "unset": ["notes", "secret_plan"],
        }
    assert fleet.kinds(thread)[-2:] == ["thread.handed_off", "thread.succeeded"]
    fleet.verify()


@pytest.mark.requirement("B34")
def test_a_writer_that_fails_goes_on_without_the_researcher(fleet: Fleet) -> None:
    thread = fleet.start("researcher", goal="bad")
    fleet.work()
    heir = successor(thread)
    assert fleet.row(heir).status == "failed"
    ended = fleet.row(thread)
    store.edit(heir, changes={"fails": False}, reason="words were found", actor="user:1")
    store.retry(heir, actor="user:1")
    fleet.work()
    assert fleet.row(heir).status == "succeeded"
    assert agents.looked == ["bad"]
    assert fleet.row(thread) == ended
    fleet.verify()


@pytest.mark.requirement("B34")
def test_a_lost_writer_is_taken_over_from_that_checkpoint(fleet: Fleet, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.1
    thread = fleet.start("researcher", goal="tea")
    fleet.work_on(thread)
    heir = successor(thread)
    lost = leases.acquire(heir, owner="worker:lost")
    assert lost is not None
    taken = []
    wait_until(lambda: taken.append(leases.take_over(heir, owner="worker:other")) or taken[-1])
    store.hand_back(taken[-1], reason="for the test")
    fleet.work()
    assert fleet.row(heir).status == "succeeded"
    assert (agents.looked, len(agents.wrote)) == (["tea"], 1)


def test_who_waits_for_the_researcher_waits_for_the_writer(fleet: Fleet) -> None:
    thread = fleet.start("editor", goals=["tea", "bad", "rice"])
    fleet.work()
    state = fleet.state(thread)
    assert state["texts"] == ["WARM: TEA GROWS, HANDED OVER", "WARM: RICE GROWS, HANDED OVER"]
    assert ["no words" in line for line in state["listed"]] == [True]
    assert len(fleet.worked) == 2 + 3 * 2
    fleet.verify()


def test_the_next_begins_when_the_writer_has_ended(fleet: Fleet) -> None:
    thread = fleet.start("editor", goals=["tea", "rice"])
    fleet.work_on(thread)
    (first,) = fleet.queued()
    fleet.work_on(first)
    assert fleet.queued() == [successor(first)]
    assert fleet.row(thread).status == "waiting"
    fleet.work_on(successor(first))
    assert len(fleet.queued()) == 1


@pytest.mark.requirement("B33")
def test_an_agent_is_swapped_without_touching_the_other(fleet: Fleet) -> None:
    thread = fleet.start("researcher", goal="tea")
    fleet.work()
    former = fleet.row(successor(thread)).agent_version_id
    fleet.install_other_writer()
    other = fleet.start("researcher", goal="tea")
    fleet.work()
    assert fleet.row(other).agent_version_id == fleet.row(thread).agent_version_id
    assert fleet.row(successor(other)).agent_version_id != former
    assert fleet.state(successor(other))["text"] == "SHORT"


@pytest.mark.altered
def test_a_successor_that_was_altered_is_found_by_its_giver(fleet: Fleet) -> None:
    thread = fleet.start("researcher", goal="tea")
    fleet.work()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_thread SET chain_id = gen_random_uuid() WHERE id = %s", (successor(thread),)
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    assert "a child it names is not as it was then" in verify_thread(thread).what
