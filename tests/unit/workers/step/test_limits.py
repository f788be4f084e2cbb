"""Every limit at every entry of a node: a failed step that names the place, and nothing stuck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import beyond
from tests.unit.workers.graphs.beyond import BEYOND
from tests.unit.workers.graphs.beyond import beyond as value_beyond
from workers.slot import loop

VALUES = ("size", *BEYOND)
RESULTS = ("result", "effect result")
TEXTS = ("size", "NUL", "surrogate")
# Entry points that keep a JSON value, and where in it the refused one stands.
PATHS = {
    "update": "$.facts.here",
    "arguments": "$.args[0].here",
    "effect arguments": "$.value.here",
    "thought": "$.facts.here",
}


def wrong(bench: Bench, entry: str, limit: str) -> str:
    """A thread that goes through the entry fails; the next one and then it itself go on. Why."""
    thread = bench.start(entry=entry, limit=limit)
    row = bench.advance(thread)
    status, reason = row.status, row.status_reason
    assert status is Status.FAILED, (status, reason[:300])
    assert bench.intact(thread)
    assert bench.kinds(thread)[-2:] == ["step.failed", "thread.failed"]
    # The next one on the same worker works.
    other = bench.start()
    assert bench.advance(other).status is Status.SUCCEEDED
    # The thread goes on once the cause is gone.
    bench.edit(thread, {"entry": "none"}, "mended")
    bench.retry(thread)
    again = bench.advance(thread)
    assert (again.status, bench.state(thread)["out"]) == (Status.SUCCEEDED, "done")
    assert bench.intact(thread)
    return reason


@pytest.mark.slow
@pytest.mark.requirement("B23")
@pytest.mark.parametrize("entry", PATHS)
def test_a_value_beyond_a_limit_fails_the_step_with_its_path(
    make_bench: Callable[[Any], Bench], entry: str
) -> None:
    bench = make_bench(beyond)
    for limit in VALUES:
        reason = wrong(bench, entry, limit)
        if limit == "size":
            assert "bytes, at most" in reason
            assert entry != "update" or "$.facts: the state has " in reason
        else:
            assert PATHS[entry] in reason, limit
        if limit == "depth":
            assert f"{PATHS[entry]}[0][0][0]" in reason
            assert "nested too deeply" in reason


@pytest.mark.slow
@pytest.mark.requirement("F03")
@pytest.mark.parametrize("entry", RESULTS)
def test_a_result_beyond_the_limits_of_json_is_kept(
    make_bench: Callable[[Any], Bench], entry: str
) -> None:
    bench = make_bench(beyond)
    for limit in VALUES:
        thread = bench.start(entry=entry, limit=limit)
        row = bench.advance(thread)
        assert row.status is Status.SUCCEEDED, (limit, row.status_reason[:300])
        assert bench.intact(thread)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "entry",
    ["way", "error", "error of an activity", "key", "title", "question", "file name", "media type"],
)
def test_a_text_that_cannot_be_kept_fails_the_step(
    make_bench: Callable[[Any], Bench], entry: str
) -> None:
    bench = make_bench(beyond)
    for limit in TEXTS:
        reason = wrong(bench, entry, limit)
        assert reason.startswith("begin: "), limit
        assert len(reason) <= 2_000


@pytest.mark.parametrize("entry", ["sleep", "deadline"])
def test_a_time_that_never_comes_fails_the_step(
    make_bench: Callable[[Any], Bench], entry: str
) -> None:
    bench = make_bench(beyond)
    for limit in ("NaN", "infinity", "integer", "negative integer"):
        assert "seconds" in wrong(bench, entry, limit), limit


def test_the_values_are_beyond_the_limits_and_their_neighbours_are_not() -> None:
    from checkpoints.errors import InvalidValue
    from checkpoints.state import deltas

    for limit in BEYOND:
        with pytest.raises(InvalidValue, match=r"^\$\.here"):
            deltas.check(value_beyond(limit, "any"))
    for value in (beyond.nested(99), {"k" * 1_000: 1}, 2**53 - 1, -(2**53) + 1):
        deltas.check({"here": value})


def test_what_only_the_database_refuses_fails_the_thread_and_leaves_the_worker_well(
    real_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another try would end alike: it does not wait for its lease to run out three times."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE gp_approval ADD CHECK (title NOT LIKE 'Refused%%')", ())
    bench = bench_of(beyond)
    monkeypatch.setattr(loop, "agents", lambda: {"beyond": bench.agent})
    thread, other = bench.start(entry="refused"), bench.start()
    for one in (thread, other):
        loop.work_on(bench.lease(one))
    row = bench.row(thread)
    assert (row.status, row.lease_owner) == (Status.FAILED, "")
    assert row.status_reason.startswith("The database refuses what this step writes: ")
    assert bench.approvals(thread) == []
    assert bench.row(other).status is Status.SUCCEEDED
    bench.edit(thread, {"entry": "none"}, "mended")
    bench.retry(thread)
    loop.work_on(bench.lease(thread))
    assert bench.row(thread).status is Status.SUCCEEDED
    assert bench.intact(thread)
