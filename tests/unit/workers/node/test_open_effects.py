"""An effect that began and was never settled: no checkpoint passes it, in any step."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs.effects import unsure
from tests.unit.workers.graphs.effects.settled import Any_Bench, effects, settle, work
from tests.unit.workers.graphs.effects.unsure import world
from workers.engine import engine


@pytest.mark.requirement("C32")
@pytest.mark.parametrize("tool", ["pay", "send"])
def test_a_node_that_no_longer_comes_to_its_effect_does_not_pass_it(
    play: Any_Bench, tool: str
) -> None:
    world.lose = 1
    thread = play.start(tool=tool)
    play.advance(thread)
    assert [effect.state for effect in effects(play, thread)] == ["started"]
    world.skip = True
    for _ in range(2):
        row: Any = work(play, thread)
        assert row.status is Status.ATTENTION
        assert f"Whether {tool!r} happened is unknown" in row.status_reason
        assert [effect.state for effect in effects(play, thread)] == ["unknown"]
        play.retry(thread)
    work(play, thread)
    assert settle(play, thread, "happened", result="paid").status is Status.SUCCEEDED
    assert len(world.keys(tool)) == 1
    assert play.intact(thread)


@pytest.mark.django_db
def test_one_that_was_left_open_in_an_earlier_step_stops_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records of former versions, whose checkpoints passed it."""
    world.clear()
    bench, world.lose = bench_of(unsure), 1
    thread = bench.start(rounds=2)
    bench.advance(thread)
    world.skip = world.broken = True
    with monkeypatch.context() as former:
        former.setattr(engine, "leave_unreached_effects", lambda *_: False)
        assert work(bench, thread).status is Status.FAILED
    world.broken = False
    assert [effect.state for effect in effects(bench, thread)] == ["started", "done"]
    bench.retry(thread)
    row = work(bench, thread)
    assert row.status is Status.ATTENTION, row.status_reason
    assert "Whether 'pay' happened is unknown: it began, and nobody settled it" in row.status_reason
    assert settle(bench, thread, "not_happened").status is Status.SUCCEEDED
    assert [effect.state for effect in effects(bench, thread)] == ["failed", "done"]
    assert bench.intact(thread)
