"""Reading a state costs what its own past costs, however much others have written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.errors import CorruptHistory
from checkpoints.queries.states import materialized
from tests.unit.checkpoints.builders import OPERATOR, drive, head_of, make_thread, one, rows


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def others(thread: UUID) -> None:
    """Long threads of others, as rows; they only have to be there."""
    columns = ", ".join(
        column
        for (column,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_checkpoint'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('thread_id', 'id', 'number')"
        )
    )
    for _ in range(4):
        rows(
            f"INSERT INTO gp_checkpoint (thread_id, id, number, {columns}) SELECT o.id, "
            f"gen_random_uuid(), n, {columns} FROM gp_checkpoint c, "
            "(SELECT gen_random_uuid() AS id) o, generate_series(1, 5000) n "
            "WHERE c.thread_id = %s::uuid AND c.number = 1",
            (thread,),
        )
    rows("ANALYZE gp_checkpoint")


@pytest.mark.django_db
def test_few_long_threads_are_read_by_their_ranges_alone() -> None:
    thread = make_thread()
    drive(thread, 3)
    others(thread)
    for mode in ("force_custom_plan", "force_generic_plan"):
        rows(f"SET LOCAL plan_cache_mode = {mode}")
        plan = one(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {materialized.SQL.state}", (thread, head_of(thread))
        )
        read = [n for n in nodes(plan[0]["Plan"]) if n.get("Relation Name") == "gp_checkpoint"]
        assert len(read) == 4
        assert {n["Node Type"] for n in read} <= {"Index Scan", "Bitmap Heap Scan"}
        assert sum(n["Actual Rows"] * n["Actual Loops"] for n in read) <= 10
        # Beyond that PostgreSQL may compile a statement, which takes longer than any read.
        assert plan[0]["Plan"]["Total Cost"] < float(one("SHOW jit_above_cost")) / 10
    assert materialized.materialise(thread, head_of(thread)).state["log"] == [1, 2, 3]


def long_past() -> tuple[UUID, UUID]:
    """A thread of 110 steps, and a fork of its 95th that went on for 60."""
    base = make_thread()
    drive(base, 110)
    fork = store.fork(
        base, checkpoint=queries.checkpoint_by_number(base, 95).id, changes={}, actor=OPERATOR
    )
    drive(fork, 60)
    return base, fork


@pytest.mark.django_db
def test_blocks_end_with_their_range_wherever_it_begins() -> None:
    _, fork = long_past()
    for number in (0, 1, 46, 47, 48, 49, 60):
        point = queries.checkpoint_by_number(fork, number).id
        result = materialized.materialise(fork, point)
        assert len(result.state["log"]) == 95 + number
        assert result.deltas_read == 96 + number + 1
        assert result.ranges == 2
        for item in (0, number // 2, number):
            state = queries.state_at(fork, queries.checkpoint_by_number(fork, item).id)
            store.write_keyframe(fork, item, state)
            short = materialized.materialise(fork, point)
            assert short.state == result.state
            assert (short.deltas_read, short.unfolded_rows) == (number - item, number - item)
            store.drop_keyframe(fork, item)


@pytest.mark.django_db
@pytest.mark.parametrize("number", [0, 1, 30, 47, 48, 94])
@pytest.mark.altered
def test_a_past_with_a_hole_is_refused(number: int) -> None:
    base, fork = long_past()
    rows("SET session_replication_role = replica")
    rows(
        "DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = %s::integer",
        (base, number),
    )
    rows("SET session_replication_role = DEFAULT")
    with pytest.raises(CorruptHistory):
        materialized.materialise(fork, head_of(fork))
