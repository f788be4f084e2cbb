"""The small interface of the articles: get_checkpoint, fork_trajectory, the view in SQL, and
update_agent_state_atomic."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings

from checkpoints import queries
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.states import Status
from gatepost.contrib.graph_store import (
    ConcurrentModificationError,
    StateGraphStore,
    update_agent_state_atomic,
)

from .builders import bring_to, drive, head_of, kinds_of, make_thread, one, rows, status_of
from .store.test_fork import Model, moves, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def thread() -> UUID:
    made = make_thread()
    drive(made, 3)
    return made


@pytest.mark.requirement("C13")
def test_a_checkpoint_is_the_whole_state_or_none(thread: UUID) -> None:
    state_graph_store = StateGraphStore(connection)
    for row in queries.checkpoints(thread).rows:
        assert state_graph_store.get_checkpoint(str(thread), str(row.id)) == queries.state_at(
            thread, row.id
        )
    head = str(head_of(thread))
    assert state_graph_store.get_checkpoint(str(thread), str(uuid4())) is None
    assert state_graph_store.get_checkpoint(str(make_thread()), head) is None, "of another thread"
    assert state_graph_store.get_checkpoint("no id", head) is None
    assert state_graph_store.get_checkpoint(str(thread), "'; DROP TABLE gp_thread; --") is None


@pytest.mark.requirement("C14")
def test_a_trajectory_forks_and_the_base_stays_as_it_is(thread: UUID) -> None:
    state_graph_store = StateGraphStore(connection, actor="user:7")
    base = str(queries.checkpoint_by_number(thread, 2).id)
    before = rows_of(thread)
    state = state_graph_store.get_checkpoint(str(thread), base)
    assert state is not None
    new = state_graph_store.fork_trajectory(str(thread), base, {"goal": "another"})
    assert state_graph_store.get_checkpoint(str(thread), new) == {**state, "goal": "another"}
    assert state_graph_store.get_checkpoint(str(thread), base) == state
    assert rows_of(thread) == before
    (row,) = rows(
        "SELECT parent_checkpoint_id FROM agent_checkpoints WHERE thread_id = %s "
        "AND checkpoint_id = %s",
        (str(thread), new),
    )
    assert row == (base,)
    (fork,) = queries.forks_of(thread)
    assert fork.started_by == "user:7"
    assert verify_thread(fork.id).intact
    again = state_graph_store.fork_trajectory(str(thread), new, {"goal": "a third"})
    assert state_graph_store.get_checkpoint(str(fork.id), again) == {**state, "goal": "a third"}


@pytest.mark.requirement("C14")
def test_a_chain_of_trajectories_stays_under_the_thread_that_was_given(thread: UUID) -> None:
    """The article's loop: what one call answers is the base of the next, under one thread id."""
    state_graph_store = StateGraphStore(connection)
    at = str(head_of(thread))
    state = state_graph_store.get_checkpoint(str(thread), at)
    made = []
    for total in range(5):
        before = at
        at = state_graph_store.fork_trajectory(str(thread), before, {"total": total})
        made.append(at)
        assert state_graph_store.get_checkpoint(str(thread), at) == {
            **(state or {}),
            "total": total,
        }
        assert article(thread, UUID(at)) == {**(state or {}), "total": total}
        (row,) = rows(
            "SELECT parent_checkpoint_id FROM agent_checkpoints WHERE thread_id = %s "
            "AND checkpoint_id = %s",
            (str(thread), at),
        )
        assert row == (before,)
    # Where a fork went on by itself, what begins there is found under the fork alone.
    (first,) = queries.forks_of(thread)
    own = drive(first.id, 1)
    aside = state_graph_store.fork_trajectory(str(first.id), str(head_of(first.id)), {})
    assert state_graph_store.get_checkpoint(str(first.id), aside) == own.state
    assert state_graph_store.get_checkpoint(str(thread), aside) is None
    assert article(thread, UUID(aside)) is None
    for a_thread, checkpoint in rows("SELECT thread_id, checkpoint_id FROM agent_checkpoints"):
        assert state_graph_store.get_checkpoint(a_thread, checkpoint) == article(
            UUID(a_thread), UUID(checkpoint)
        )
    assert all(state_graph_store.get_checkpoint(str(first.id), each) for each in made)


@pytest.mark.requirement("C14")
def test_an_unknown_base_raises_value_error(thread: UUID) -> None:
    state_graph_store = StateGraphStore(connection)
    bases: tuple[Any, ...] = (str(uuid4()), "no id", "", "\0", "\ud800", "x" * 10_000, None, 5)
    for base in bases:
        assert state_graph_store.get_checkpoint(str(thread), base) is None
        with pytest.raises(ValueError, match="not found"):
            state_graph_store.fork_trajectory(str(thread), base, {})
    with pytest.raises(ValueError, match="not found"):
        state_graph_store.fork_trajectory(str(uuid4()), str(head_of(thread)), {})


@pytest.mark.requirement("C12")
def test_the_view_has_the_columns_of_the_article(thread: UUID) -> None:
    columns = rows(
        "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns "
        "WHERE table_name = 'agent_checkpoints' ORDER BY ordinal_position"
    )
    assert columns == [
        ("thread_id", "character varying", 255),
        ("checkpoint_id", "character varying", 255),
        ("parent_checkpoint_id", "character varying", 255),
        ("state_payload", "bytea", None),
        ("created_at", "timestamp with time zone", None),
    ]
    at = str(head_of(thread))
    for _ in range(3):
        at = StateGraphStore(connection).fork_trajectory(str(thread), at, {})
    assert (
        rows(
            "SELECT thread_id, checkpoint_id FROM agent_checkpoints GROUP BY 1, 2 "
            "HAVING count(*) > 1"
        )
        == []
    )


def article(thread: UUID, checkpoint: UUID) -> Any:
    """`get_checkpoint` as the article has it."""
    cursor = connection.cursor()
    cursor.execute(
        "SELECT state_payload FROM agent_checkpoints WHERE thread_id = %s AND checkpoint_id = %s",
        (str(thread), str(checkpoint)),
    )
    row = cursor.fetchone()
    return json.loads(bytes(row[0]).decode("utf-8")) if row else None


@pytest.mark.nightly
@given(plan=moves)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_view_folds_as_the_product_does(db: None, plan: list[Any]) -> None:
    model = Model()
    thread = make_thread()
    model.born(thread, {"goal": "count", "log": [], "facts": {}, "total": 0})
    for move in plan:
        model.play(move)
    for (owner, checkpoint), expected in model.states.items():
        assert article(owner, checkpoint) == expected


def version_of(thread: UUID) -> int:
    result: int = one("SELECT version FROM gp_thread WHERE id = %s::uuid", (thread,))
    return result


@pytest.fixture
def still() -> UUID:
    """A thread that stands still, as a row that no agent works on."""
    made = make_thread()
    bring_to(made, Status.PAUSED)
    return made


@pytest.mark.requirement("F08")
def test_an_update_counts_only_from_the_version_that_was_read(still: UUID) -> None:
    """The article's example: two read one version; one writes, the other reloads and then may."""
    version, state = version_of(still), queries.state_at(still, head_of(still))
    first, second = {**state, "goal": "first"}, {**state, "goal": "second"}
    update_agent_state_atomic(connection, str(still), version, first)
    assert (version_of(still), queries.state_at(still, head_of(still))) == (version + 1, first)
    before = rows_of(still)
    with pytest.raises(
        ConcurrentModificationError, match=r"updated concurrently.*refresh and retry"
    ):
        update_agent_state_atomic(connection, str(still), version, second)
    assert rows_of(still) == before, "what is refused writes nothing"
    update_agent_state_atomic(connection, str(still), version + 1, second, actor="user:7")
    assert (version_of(still), queries.state_at(still, head_of(still))) == (version + 2, second)
    assert kinds_of(still).count("state.edited") == 2
    assert verify_thread(still).intact


@pytest.mark.requirement("F08")
def test_a_payload_is_the_whole_state(still: UUID) -> None:
    full = {"goal": "full", "log": ["a"], "facts": {"b": 1}, "total": 3}
    update_agent_state_atomic(connection, str(still), version_of(still), full)
    assert queries.state_at(still, head_of(still)) == full
    update_agent_state_atomic(connection, str(still), version_of(still), {"goal": "alone"})
    assert queries.state_at(still, head_of(still)) == {
        "goal": "alone", "log": [], "facts": {}, "total": 0,
    }  # fmt: skip


@pytest.mark.requirement("F08")
def test_a_version_of_the_future_and_of_the_past_are_refused(still: UUID) -> None:
    version, before = version_of(still), rows_of(still)
    for wrong in (version - 1, version + 1, 0, -1, 2**40):
        with pytest.raises(ConcurrentModificationError):
            update_agent_state_atomic(connection, str(still), wrong, {"goal": "x"})
    assert rows_of(still) == before


@pytest.mark.requirement("F08")
def test_what_is_no_update_is_refused_with_its_reason(still: UUID) -> None:
    version, before = version_of(still), rows_of(still)
    payloads: tuple[tuple[Any, str], ...] = (
        ({"golf": 1}, "$.golf"), ([], "$"), ({"goal": "\0"}, "$.goal"), ({"goal": 1e400}, "$.goal"),
    )  # fmt: skip
    for payload, path in payloads:
        with pytest.raises(InvalidValue) as refused:
            update_agent_state_atomic(connection, str(still), version, payload)
        assert refused.value.path == path
    for unknown in (str(uuid4()), "no id", "", None, 7):
        with pytest.raises(NotFound):
            update_agent_state_atomic(connection, unknown, version, {})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="connection"):
        update_agent_state_atomic(object(), str(still), version, {})
    assert rows_of(still) == before
    queued = make_thread()
    with pytest.raises(NotAllowedNow):
        update_agent_state_atomic(connection, str(queued), version_of(queued), {"goal": "x"})
    assert status_of(queued) == Status.QUEUED
