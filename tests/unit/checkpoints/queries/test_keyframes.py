"""Keyframes: where they stand, what they cost, and that nothing but speed depends on them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from checkpoints.errors import CorruptHistory
from checkpoints.queries.states import keyframes, materialized
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    drive,
    head_of,
    make_thread,
    one,
    rows,
)
from workers.step.ledger import DatabaseLedger


def numbers(thread: UUID) -> list[int]:
    result = rows(
        "SELECT number FROM gp_keyframe WHERE thread_id = %s::uuid ORDER BY number", (thread,)
    )
    return [number for (number,) in result]


def keyframes_of(thread: UUID) -> int:
    return one(
        "SELECT coalesce(sum(octet_length(state)), 0) FROM gp_keyframe WHERE thread_id = %s::uuid",
        (thread,),
    )


def keep_when_due(driver: Driver, ledger: DatabaseLedger) -> None:
    """What the engine does after each commit."""
    work = driver.work
    if keyframes.due(work.unfolded, work.unfolded_rows, driver.digests.size):
        ledger.keyframe(work, driver.state)


def played(deltas_: list[dict[str, Any]], *, lease: int = 10**9) -> tuple[UUID, Work]:
    """A thread that made these steps, the lease given back after each `lease` of them."""
    ledger = DatabaseLedger()
    driver = drive(make_thread())
    for i, delta in enumerate(deltas_, 1):
        driver.step(delta)
        keep_when_due(driver, ledger)
        if i % lease == 0:
            store.hand_back(driver.work, reason="test")
            driver = Driver(acquired(driver.work.thread))
            reducers = materialized.reducers_of(driver.work.agent_version)
            state, driver.digests, _ = ledger.load(driver.work, driver.work.agent_version, reducers)
            driver.folder = deltas.Folder(state)
    return driver.work.thread, driver.work


GROWING = [{"append": {"log": ["x" * 1_000]}} for _ in range(400)]
OVERWRITING = [{"set": {"goal": f"{i:08}" * 1_500}} for i in range(60)]
# These lie by reference: there is little to fold.
LARGE = [{"set": {"goal": f"{i:08}" * 5_000}} for i in range(60)]
COUNTING = [{"set": {"total": i}} for i in range(400)]
MIXED = [
    {"append": {"log": [i]}, "merge": {"facts": {f"k{i % 50}": "y" * 900}}} for i in range(400)
]
SHAPES = {
    "growing": GROWING,
    "overwriting": OVERWRITING,
    "large": LARGE,
    "counting": COUNTING,
    "mixed": MIXED,
}


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lease", [10**9, 25], ids=["one lease", "many leases"])
def test_keyframes_weigh_no_more_than_deltas_and_reads_are_bounded(shape: str, lease: int) -> None:
    value = SHAPES[shape]
    thread, _ = played(value, lease=lease)
    weight = keyframes.weight(sum(len(deltas.canonical(d)) for d in value), len(value))
    assert keyframes_of(thread) <= weight
    worst = 0
    for row in queries.checkpoints(thread, limit=1_000).rows:
        result = materialized.materialise(thread, row.id)
        # What lies after the newest keyframe: no more than the state or the floor, and one step.
        last = keyframes.weight(len(deltas.canonical(value[max(row.number - 1, 0)])) + 200)
        bound = max(row.state_bytes, keyframes.FLOOR) * 1.1 + 2 * last
        assert result.unfolded <= bound, (row.number, result.unfolded, bound)
        worst = max(worst, result.unfolded_rows)
    assert worst <= len(value)
    if shape in ("overwriting", "mixed"):
        assert numbers(thread)
    if shape == "large":
        assert numbers(thread) == []


@pytest.mark.django_db
def test_leaving_often_writes_no_more_keyframes_than_staying() -> None:
    """A thread that leaves each 25 steps used to have one each time: quadratic."""
    thread, _ = played(GROWING, lease=25)
    assert len(numbers(thread)) <= 3


@pytest.mark.django_db
def test_small_states_get_none() -> None:
    thread, _ = played(COUNTING)
    assert numbers(thread) == []


@pytest.mark.slow
@pytest.mark.django_db
def test_any_keyframe_may_go_at_any_time() -> None:
    thread, _ = played(MIXED[:200])
    for number in (40, 80, 120, 160):
        point = queries.checkpoint_by_number(thread, number)
        store.write_keyframe(thread, number, queries.state_at(thread, point.id))
    points = queries.checkpoints(thread, limit=300).rows
    before = {row.number: queries.state_at(thread, row.id) for row in points}
    for number in numbers(thread):
        store.drop_keyframe(thread, number)
        after = {row.number: queries.state_at(thread, row.id) for row in points}
        assert after == before
    assert numbers(thread) == []


def poisoned(thread: UUID, number: int, text: str) -> None:
    rows("DELETE FROM gp_keyframe WHERE thread_id = %s::uuid", (thread,))
    rows(
        "INSERT INTO gp_keyframe (thread_id, number, state) VALUES (%s::uuid, %s::integer, %s)",
        (thread, number, text),
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    ['{"goal": "steal", "log": [1, 2]}', "{}", '{"log": "no list"}', "[]", "no JSON", ""],
)
def test_a_false_keyframe_is_dropped_and_never_built_upon(text: str) -> None:
    thread = make_thread()
    driver = drive(thread, 4)
    expected = dict(driver.state)
    poisoned(thread, 2, text)
    reducers = materialized.reducers_of(driver.work.agent_version)

    edited = store.fork(thread, checkpoint=head_of(thread), changes={"goal": "new"}, actor=OPERATOR)
    assert queries.checkpoint(edited, head_of(edited)).state_hash == (
        Digests.of(expected | {"goal": "new"}, reducers).root.hex()
    )
    state, digests, _ = DatabaseLedger().load(driver.work, driver.work.agent_version, reducers)

    assert state == expected
    assert digests.root == Digests.of(expected, reducers).root
    assert numbers(thread) == []
    assert queries.state_at(thread, head_of(thread)) == expected
    assert queries.state_at(edited, head_of(edited)) == expected | {"goal": "new"}


@pytest.mark.django_db
def test_false_deltas_are_no_keyframes_fault() -> None:
    thread = make_thread()
    driver = drive(thread, 4)
    rows("ALTER TABLE gp_checkpoint DISABLE TRIGGER USER")
    rows(
        'UPDATE gp_checkpoint SET delta = \'{"append": {"log": [9]}}\' '
        "WHERE thread_id = %s::uuid AND number = 3",
        (thread,),
    )
    rows("ALTER TABLE gp_checkpoint ENABLE TRIGGER USER")
    poisoned(thread, 2, '{"goal": "steal", "log": [1, 2]}')
    reducers = materialized.reducers_of(driver.work.agent_version)
    with pytest.raises(CorruptHistory):
        DatabaseLedger().load(driver.work, driver.work.agent_version, reducers)


@pytest.mark.django_db
def test_the_state_is_one_query_however_many_branches() -> None:
    thread = make_thread()
    drive(thread, 5)
    for _ in range(3):
        thread = store.fork(thread, checkpoint=head_of(thread), changes={}, actor=OPERATOR)
        drive(thread, 2)
    head = head_of(thread)
    with CaptureQueriesContext(connection) as seen:
        state = queries.state_at(thread, head)
    assert len(seen) == 1
    assert len(state["log"]) == 11


def test_a_hundred_forks_of_forks_are_read_through_few_branches(real_db: str) -> None:
    base = thread = make_thread()
    drive(thread, 3)
    expected = dict(queries.state_at(thread, head_of(thread)))
    for i in range(100):
        if i % 3:
            thread = store.fork(thread, checkpoint=head_of(thread), changes={}, actor=OPERATOR)
        else:
            expected["total"] = i
            thread = store.fork(
                thread, checkpoint=head_of(thread), changes={"total": i}, actor=OPERATOR
            )
    head = head_of(thread)
    with CaptureQueriesContext(connection) as seen:
        result = materialized.materialise(thread, head)
    assert len(seen) == 1
    assert result.state == expected
    assert result.ranges <= keyframes.RANGES
    assert result.deltas_read <= keyframes.RANGES
    # Without any of them it is the same state, from a hundred branches.
    rows("DELETE FROM gp_keyframe")
    slow = materialized.materialise(thread, head)
    assert (slow.state, slow.ranges) == (expected, 101)
    assert queries.state_at(base, head_of(base))["log"] == [1, 2, 3]
