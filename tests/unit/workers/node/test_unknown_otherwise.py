"""A person decides on effects with other arguments, and on those that a left course has done."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints.errors import NotAllowedNow
from checkpoints.states import Status
from tests.unit.workers.graphs.effects.settled import (
    Any_Bench,
    answer_of,
    changed,
    effects,
    lost,
    open_question,
    settle,
    work,
)
from tests.unit.workers.graphs.effects.unsure import world

# ---- other arguments -----------------------------------------------------------------------------


@pytest.mark.requirement("C40")
def test_other_arguments_stop_in_attention_and_a_pure_activity_is_revised(
    play: Any_Bench,
) -> None:
    thread = changed(play)
    question = open_question(play, thread)
    (effect,) = effects(play, thread)
    assert question is not None
    assert (question.kind, question.activity, question.args) == ("effect", effect.id, {"n": 2})
    assert (effect.state, effect.args, effect.result) == ("done", {"n": 1}, "pay 1")
    looks = [a for a in play.activities(thread) if a.tool == "look"]
    assert [(a.revision, a.result) for a in looks] == [(0, "saw 1"), (1, "saw 2")]
    assert len(world.keys("pay")) == 1
    assert play.intact(thread)


@pytest.mark.requirement("B38")
def test_keep_the_outcome(play: Any_Bench) -> None:
    thread = changed(play)
    assert settle(play, thread, "keep", reason="the amount is right").status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 1
    assert play.state(thread)["notes"] == ["saw 2", "pay 1"]
    assert [e.state for e in effects(play, thread)] == ["done"]
    assert answer_of(play, thread)["verdict"] == "keep"
    assert play.intact(thread)


def test_an_answer_holds_for_the_arguments_that_were_shown(play: Any_Bench) -> None:
    thread = changed(play)
    world.broken = True
    assert settle(play, thread, "keep").status is Status.FAILED
    play.retry(thread)
    assert work(play, thread).status is Status.FAILED, "kept: it does not ask again"
    play.edit(thread, {"n": 3}, "a third amount")
    play.retry(thread)
    assert work(play, thread).status is Status.ATTENTION
    world.broken = False
    play.edit(thread, {"n": 2}, "back to the second")
    play.retry(thread)
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 1


def allowed_again(play: Any_Bench, thread: UUID) -> Any:
    """Say "do it again", then approve the request that this opens; the thread's row."""
    assert settle(play, thread, "again").status is Status.WAITING
    row = play.open(thread)
    assert (row.kind, row.risk) == ("repeat", "high")
    assert row.description.startswith("At this step, ")
    play.decide(thread, "approve")
    return work(play, thread)


def test_do_it_again(play: Any_Bench) -> None:
    thread = changed(play)
    assert allowed_again(play, thread).status is Status.SUCCEEDED
    first, second = effects(play, thread)
    assert [(e.revision, e.args["n"], e.state) for e in (first, second)] == [
        (0, 1, "done"),
        (1, 2, "done"),
    ]
    assert world.keys("pay") == [first.idempotency_key, second.idempotency_key]
    assert first.idempotency_key != second.idempotency_key, "no bank may swallow the second"
    assert play.state(thread)["notes"] == ["saw 2", "pay 2"]
    assert play.intact(thread)


def test_the_second_execution_has_one_key_over_a_loss(play: Any_Bench) -> None:
    thread = changed(play, tool="send")
    world.lose = 1
    assert allowed_again(play, thread).status is Status.SUCCEEDED
    _, second, third = world.keys("send")
    assert second == third
    assert [(e.revision, e.attempts) for e in effects(play, thread)] == [(0, 1), (1, 2)]
    assert play.intact(thread)


def test_undo_and_do_again(play: Any_Bench) -> None:
    thread = changed(play)
    (key,) = world.keys("pay")
    assert settle(play, thread, "undo_again").status is Status.SUCCEEDED
    assert ("take_back", 1, "pay 1", f"undo:{key}") in world.calls
    assert [(e.revision, e.state) for e in effects(play, thread)] == [
        (0, "compensated"),
        (1, "done"),
    ]
    assert len(set(world.keys("pay"))) == 2
    assert [c[0] for c in world.calls if c[0] != "look"] == ["pay", "take_back", "pay"]
    assert play.intact(thread)


def test_again_keeps_the_words_of_the_gate_and_says_what_was_done(play: Any_Bench) -> None:
    thread = changed(play, gated=True)
    (first,) = effects(play, thread)
    assert settle(play, thread, "again").status is Status.WAITING
    row = play.open(thread)
    assert (row.kind, row.risk, row.title) == ("repeat", "high", "Repeat: Do it?")
    assert row.repeats["activity"] == str(first.id)
    assert (row.repeats["state"], row.repeats["args"]) == ("done", '{"n":1}')
    assert len(world.keys("pay")) == 1
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 2
    assert play.intact(thread)


@pytest.mark.parametrize("answer", ["again", "undo_again"])
def test_what_stays_done_is_repeated_by_each_attempt_that_follows(
    play: Any_Bench, answer: str
) -> None:
    """The second execution fails or is undone: the first one is still there."""
    thread = changed(play)
    (first,) = effects(play, thread)
    assert settle(play, thread, "again").status is Status.WAITING
    play.decide(thread, "approve")
    world.refuse, world.broken = answer == "again", True
    assert work(play, thread).status is Status.FAILED
    world.refuse = world.broken = False
    play.edit(thread, {"n": 3}, "a third amount")
    play.retry(thread)
    assert work(play, thread).status is Status.ATTENTION
    assert settle(play, thread, answer).status is Status.WAITING
    row = play.open(thread)
    assert (row.kind, row.risk, row.repeats["activity"]) == ("repeat", "high", str(first.id))
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert play.intact(thread)


@pytest.mark.requirement("B38")
def test_a_tool_that_acts_once_is_not_done_again(play: Any_Bench) -> None:
    thread = changed(play, tool="mail")
    for verdict in ("again", "undo_again"):
        with pytest.raises(NotAllowedNow):
            settle(play, thread, verdict)
    assert settle(play, thread, "keep").status is Status.SUCCEEDED
    assert len(world.keys("mail")) == 1


def test_a_failed_effect_with_other_arguments_asks_as_well(play: Any_Bench) -> None:
    world.refuse = True
    thread = play.start()
    assert work(play, thread).status is Status.FAILED
    world.refuse = False
    play.edit(thread, {"n": 2}, "another amount")
    play.retry(thread)
    row = work(play, thread)
    assert row.status is Status.ATTENTION
    assert "was tried here with other arguments" in row.status_reason
    with pytest.raises(NotAllowedNow):
        settle(play, thread, "keep")
    assert settle(play, thread, "again").status is Status.SUCCEEDED
    assert len(set(world.keys("pay"))) == 2
    assert play.intact(thread)


# ---- a course that was left ----------------------------------------------------------------------


@pytest.mark.requirement("B38")
def test_after_a_rollback_what_stayed_done_asks_and_in_a_loop_each_once(play: Any_Bench) -> None:
    thread = play.start(tool="shout", rounds=3)
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("shout")) == 3
    play.roll_back(thread, 2)
    play.edit(thread, {"rounds": 5}, "more of them")
    play.resume(thread)
    for n in (2, 3):
        assert work(play, thread).status is Status.WAITING
        row = play.open(thread)
        assert row.title == "Repeat shout?"
        assert row.description.startswith("Before the rollback, shout ran at ")
        assert row.description.endswith(" UTC. It was not undone.")
        assert (row.kind, row.risk) == ("repeat", "high")
        assert row.repeats["args"] == f'{{"n":{n}}}'
        assert row.repeats["result"] == f'"shout {n}"'
        assert len(world.keys("shout")) == n + 1
        play.decide(thread, "approve")
    # The fourth and the fifth never happened before: nothing is asked.
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("shout")) == len(set(world.keys("shout"))) == 7
    # Back by one step of the new branch: only that one is asked about.
    play.roll_back(thread, play.row(thread).number - 1)
    play.resume(thread)
    assert work(play, thread).status is Status.WAITING
    assert play.open(thread).repeats["args"] == '{"n":5}'
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert play.intact(thread)


def test_what_the_rollback_undid_asks_nothing(play: Any_Bench) -> None:
    thread = play.start(rounds=2)
    work(play, thread)
    play.roll_back(thread, 1)
    play.resume(thread)
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 4
    assert play.intact(thread)


@pytest.mark.requirement("B38")
def test_a_tool_that_acts_once_never_does_so_again_after_a_rollback(play: Any_Bench) -> None:
    thread = play.start(tool="mail")
    work(play, thread)
    for _ in range(2):
        play.roll_back(thread, 1)
        play.edit(thread, {"n": 1 + play.row(thread).branch}, "another text")
        play.resume(thread)
        assert work(play, thread).status is Status.SUCCEEDED
        assert play.state(thread)["notes"][-1] == "mail 1"
    assert len(world.keys("mail")) == 1
    assert play.intact(thread)


def test_an_unknown_one_that_was_left_asks_and_says_so(play: Any_Bench) -> None:
    thread = lost(play, "shout")
    play.roll_back(thread, 0)
    play.resume(thread)
    assert work(play, thread).status is Status.WAITING
    assert "its outcome is unknown" in play.open(thread).description
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(set(world.keys("shout"))) == 2


def test_the_gate_of_the_author_says_it_as_well(play: Any_Bench) -> None:
    thread = play.start(tool="shout", gated=True)
    work(play, thread)
    play.decide(thread, "approve")
    work(play, thread)
    play.roll_back(thread, 1)
    play.resume(thread)
    assert work(play, thread).status is Status.WAITING
    row = play.open(thread)
    assert row.title == "Repeat: Do it?"
    assert row.kind == "repeat"
    assert "shout ran at " in row.description
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED


@pytest.mark.requirement("B38")
def test_a_fork_says_what_its_base_has_done(play: Any_Bench) -> None:
    base = play.start(tool="shout", rounds=2)
    work(play, base)
    fork = play.fork(base, 1, {}, effects="ask")
    assert work(play, fork).status is Status.WAITING
    row = play.open(fork)
    assert row.description.startswith("In the thread it was forked from, shout ran at")
    assert row.repeats["args"] == '{"n":1}'
    assert row.repeats["thread"] == str(base)
    play.decide(fork, "approve")
    assert work(play, fork).status is Status.WAITING
    assert play.open(fork).repeats["args"] == '{"n":2}'
    # On a person's word it asks nothing about its base.
    run = play.fork(base, 1, {}, effects="run")
    assert work(play, run).status is Status.SUCCEEDED
    assert len(world.keys("shout")) == 5
    # What the base has not done is a first time.
    fresh = play.fork(base, 3, {"rounds": 3}, effects="ask")
    assert play.row(fresh).step == 3
    assert [play.intact(t) for t in (base, fork, run, fresh)] == [True] * 4


@pytest.mark.requirement("B38")
@pytest.mark.parametrize("effects", ["ask", "run"])
def test_a_tool_that_acts_once_does_so_once_in_a_family(play: Any_Bench, effects: str) -> None:
    base = play.start(tool="mail")
    work(play, base)
    fork = play.fork(base, 1, {"n": 5}, effects=effects)
    assert work(play, fork).status is Status.SUCCEEDED
    again = play.fork(fork, 0, {}, effects=effects)
    assert work(play, again).status is Status.SUCCEEDED
    assert [play.state(t)["notes"][1] for t in (base, fork, again)] == ["mail 1"] * 3
    assert len(world.keys("mail")) == 1
    assert [play.intact(t) for t in (base, fork, again)] == [True] * 3
