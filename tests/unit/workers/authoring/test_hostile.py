"""Whatever an author passes to Gatepost, the step ends with a sentence that names its place.

A generated sweep: each place of the author's interface with each hostile value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import hostile

pytestmark = pytest.mark.nightly

# What Python says where code trips over a value. Only an author's own code may have raised it.
RAW = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning)\b")
OF_THE_AUTHOR = re.compile(
    r"begin: raised (RuntimeError|ZeroDivisionError|TypeError|RecursionError|AttributeError)\b"
)
# Here the agent itself raises, or fails in its own expression.
BY_THE_AUTHOR = ("raise", "activity", "activity error", "channel")
LOCATION = re.compile(r"\(hostile\.py, line \d+\)$|\$|'(begin|end)'")


def is_clear(location: str, reason: str) -> bool:
    """Whether a reason is a sentence about the author's code or value, with its place."""
    if not LOCATION.search(reason):
        return False
    if location in BY_THE_AUTHOR and OF_THE_AUTHOR.match(reason):
        return True
    named = RAW.search(reason.replace("ValueError('x')", "").replace("not ValueError", ""))
    return reason.startswith("begin: ") and (named is None or " is not a JSON type" in reason)


@pytest.mark.parametrize(
    "location", ["raise", *hostile.ENTRIES, *hostile.UPDATES, *hostile.WAYS], ids=str
)
def test_each_hostile_value_ends_the_step_with_a_clear_reason(
    make_bench: Callable[[Any], Bench], location: str
) -> None:
    bench = make_bench(hostile)
    unclear, failed = [], 0
    for value in hostile.VALUES:
        thread = bench.start(entry=location, value=value)
        row = bench.advance(thread)
        if row.status is Status.FAILED:
            failed += 1
            assert len(row.status_reason) <= 2_000
            if not is_clear(location, row.status_reason):
                unclear.append(f"{value}: {row.status_reason[:300]}")
        else:
            assert row.status in (Status.SUCCEEDED, Status.WAITING, Status.SLEEPING), value
            assert row.status_reason == "" or row.status is Status.SLEEPING, value
    assert not unclear, "\n".join(unclear)
    assert failed  # some value is refused everywhere
    assert bench.intact(thread)
