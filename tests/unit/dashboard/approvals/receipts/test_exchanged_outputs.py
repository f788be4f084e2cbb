"""An output that a person typed in a counterfactual is theirs, and never recorded as a call's."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from dashboard.approvals.receipts import receipts_of
from tests.support.cast import Cast
from tests.unit.dashboard.approvals.receipts import buying
from tests.unit.dashboard.approvals.receipts.buying import LINES, Script
from tests.unit.workers.conftest import Bench, bench_of

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G11")]
TYPED = {"lines": [{**LINES[0], "amount": "98117.31"}], "orders": None, "page": 3}


@pytest.fixture
def bench(cast: Cast) -> Bench:
    made = bench_of(buying)
    made.workspace = cast.workspace
    return made


def origins(bench: Bench, thread: UUID) -> dict[str, tuple[str, str]]:
    result = receipts_of(bench.open(thread), bench.row(thread))
    assert result is not None
    return {value.path: (value.origin, value.by) for value in result.values}


def exchanged(bench: Bench, thread: UUID, tool: str, output: Any, actor: str) -> UUID:
    [call] = [a for a in bench.activities(thread) if a.tool == tool]
    point = bench.checkpoint(thread, call.step - 1).id
    fork = store.fork_with_output(call, output=output, checkpoint=point, actor=actor)
    bench.advance(fork)
    return fork


def test_a_typed_output_is_the_persons_also_where_it_is_reused(bench: Bench, cast: Cast) -> None:
    who = cast.actor("manager").id
    Script.proposal = {"reference": "98117.31", "account": "DE89370400440532013002"}
    Script.answer = ""
    thread = bench.start(goal="Pay")
    bench.advance(thread)
    assert origins(bench, thread)["$.reference"] == ("agent", "")
    fork = exchanged(bench, thread, "read_invoices", TYPED, who)
    assert origins(bench, fork)["$.reference"][0] == "person"
    # A step later of that fork, and in a fork of it from its beginning, which reuses the output.
    later = exchanged(bench, fork, "confirm", {"confirmed": None}, who)
    assert origins(bench, later)["$.reference"][0] == "person"
    anew = bench.fork(fork, 0, {"ceiling": "1.00"})
    bench.advance(anew)
    again = next(a for a in bench.activities(anew) if a.tool == "read_invoices")
    assert again.usage["reused_from"]
    assert origins(bench, anew)["$.reference"] == ("person", "a person")
