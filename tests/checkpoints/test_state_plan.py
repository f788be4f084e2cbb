"""Reading a state costs what its own past costs, however much others have written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from checkpoints import history

from .builders import drive, head_of, make_thread, one, rows


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
        plan = one(f"EXPLAIN (ANALYZE, FORMAT JSON) {history._STATE}", (thread, head_of(thread)))
        read = [n for n in nodes(plan[0]["Plan"]) if n.get("Relation Name") == "gp_checkpoint"]
        assert len(read) == 4
        assert {n["Node Type"] for n in read} <= {"Index Scan", "Bitmap Heap Scan"}
        assert sum(n["Actual Rows"] * n["Actual Loops"] for n in read) <= 10
    assert history.materialise(thread, head_of(thread)).state["log"] == [1, 2, 3]
