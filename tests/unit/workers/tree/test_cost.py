"""What children cost is linear, and their parent's row is written once for each batch."""

from __future__ import annotations

import math
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints.store import CHILDREN_AT_ONCE

from .conftest import Fleet

pytestmark = pytest.mark.nightly


def moves_of(thread: UUID) -> int:
    """How often a thread was moved: each move has one time of its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT at) FROM gp_event WHERE thread_id = %s", (thread,))
        return int(cursor.fetchone()[0])


def queries_for(fleet: Fleet, number: int, at_most: int | None) -> tuple[int, UUID]:
    """Statements from the start to the end of a parent and so many children."""
    thread = fleet.start("mapping", files=[f"f{n}" for n in range(number)], at_most=at_most)
    sent = count()

    def watch(execute: Any, *rest: Any) -> Any:
        next(sent)
        return execute(*rest)

    with connection.execute_wrapper(watch):
        fleet.work_on(thread)
        for child in fleet.children(thread):
            fleet.work_on(child)
        fleet.work_on(thread)
    assert fleet.row(thread).status == "succeeded"
    return next(sent), thread


@pytest.mark.parametrize("at_most", [None, 2], ids=["no-limit", "two"])
def test_statements_grow_with_the_children_and_no_faster(fleet: Fleet, at_most: int | None) -> None:
    queries_for(fleet, 10, at_most)
    few, middle, many = (queries_for(fleet, n, at_most)[0] for n in (20, 40, 80))
    # Twice as many more: twice as many statements more.
    assert many - middle <= 2.1 * (middle - few)


def test_the_parent_is_written_once_for_each_batch(fleet: Fleet) -> None:
    number = 250
    _, thread = queries_for(fleet, number, None)
    batches = math.ceil(number / CHILDREN_AT_ONCE)
    # Start, lease, wait, wake, lease, join, end; and each batch.
    assert moves_of(thread) == batches + 7
    assert fleet.kinds(thread).count("child.started") == batches
