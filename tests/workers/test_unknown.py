"""Effects on which a person decides: lost ones, other arguments, what a left course has done.

Each test runs on the real store and on the ledger in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from checkpoints import deltas, store
from checkpoints.chain import verify_thread
from checkpoints.errors import AlreadySettled, InvalidValue, NotAllowedNow
from checkpoints.states import EventKind, Status
from checkpoints.verdicts import Question, Verdict, question_of
from checkpoints.views import ActivityRow
from tests.checkpoints.builders import one, rows
from workers import rollback
from workers.memory import settling
from workers.memory.book import read

from . import unsure
from .conftest import Bench, bench_of
from .memory_bench import MemoryBench, memory_bench_of
from .test_harness import log_of
from .unsure import world

type Any_Bench = Bench | MemoryBench


@pytest.fixture
def play(make_bench: Callable[[Any], Any_Bench]) -> Any_Bench:
    world.clear()
    return make_bench(unsure)


def asked(bench: Any_Bench, thread: UUID) -> Question | None:
    row = bench.row(thread)
    kept = row.waiting_on
    return question_of(row.status, read(kept) if isinstance(bench, MemoryBench) else kept)


def settle(
    bench: Any_Bench, thread: UUID, verdict: str, *, activity: UUID | None = None, **more: Any
) -> Any:
    """Answer what is asked and work on, as an operator and then a worker do."""
    question = asked(bench, thread)
    given = {
        "activity": activity or (question.activity if question else uuid4()),
        "verdict": Verdict(verdict),
        "actor": "user:7",
        **more,
    }
    if isinstance(bench, MemoryBench):
        settling.settle(bench.book, thread, **given)
    else:
        store.settle(thread, **given)
    return work(bench, thread)


def work(bench: Any_Bench, thread: UUID) -> Any:
    while bench.row(thread).status in (Status.QUEUED, Status.ROLLING_BACK):
        bench.advance(thread)
    return bench.row(thread)


def effects(bench: Any_Bench, thread: UUID) -> list[ActivityRow]:
    return [a for a in bench.activities(thread) if a.kind == "effect"]


def lost(bench: Any_Bench, tool: str = "pay", **input: Any) -> UUID:
    """A thread whose worker was lost inside the effect."""
    world.lose = 1
    thread = bench.start(tool=tool, **input)
    row = work(bench, thread)
    assert row.status is Status.ATTENTION, row.status_reason
    return thread


def told(bench: Any_Bench, thread: UUID) -> dict[str, Any]:
    """The last answer of a person as the log has it."""
    [*_, event] = [e for e in bench.events(thread) if e.kind == EventKind.EFFECT_SETTLED]
    assert event.actor == "user:7"
    return event.data


# ---- an unknown outcome --------------------------------------------------------------------------


def test_a_lost_effect_is_shown_as_unknown_and_asked_about(play: Any_Bench) -> None:
    thread = lost(play)
    (effect,) = effects(play, thread)
    assert (effect.state, effect.attempts) == ("unknown", 1)
    assert "nobody knows yet whether it happened" in effect.error
    question = asked(play, thread)
    assert question is not None
    assert (question.kind, question.activity) == ("unknown", effect.id)
    assert "Whether 'pay' happened is unknown" in play.row(thread).status_reason
    assert len(world.keys("pay")) == 1
    assert play.kinds(thread).count("effect.failed") == 1
    # Retrying answers nothing: it asks again, and nothing happens meanwhile.
    play.retry(thread)
    assert work(play, thread).status is Status.ATTENTION
    assert len(world.keys("pay")) == 1
    assert play.kinds(thread).count("effect.failed") == 1
    assert play.intact(thread)


@pytest.mark.requirement("C40")
def test_it_happened(play: Any_Bench) -> None:
    thread = lost(play)
    answer = {"receipt": 4711, "by": ["phone"]}
    row = settle(play, thread, "happened", result=answer, reason="asked the bank")
    assert row.status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 1, "it is not done again"
    assert play.state(thread)["notes"] == ["saw 1", answer]
    (effect,) = effects(play, thread)
    assert (effect.state, effect.result, effect.attempts, effect.error) == ("done", answer, 1, "")
    said = told(play, thread)
    assert (said["verdict"], said["reason"]) == ("happened", "asked the bank")
    assert said["activity"] == str(effect.id)
    # What the node noted by chance before it was lost is what the state has now.
    recorded = [a.result for a in play.activities(thread) if a.kind == "value"]
    assert play.state(thread)["chance"] == recorded
    assert play.intact(thread)


def test_the_result_is_null_unless_it_is_entered(play: Any_Bench) -> None:
    thread = lost(play)
    assert settle(play, thread, "happened").status is Status.SUCCEEDED
    (effect,) = effects(play, thread)
    assert (effect.state, effect.result) == ("done", None)
    assert play.state(thread)["notes"] == ["saw 1", None]
    assert play.intact(thread)


def test_it_did_not_happen(play: Any_Bench) -> None:
    thread = lost(play)
    assert settle(play, thread, "not_happened").status is Status.SUCCEEDED
    keys = world.keys("pay")
    assert (len(keys), len(set(keys))) == (2, 1), "once more, with the same key"
    (effect,) = effects(play, thread)
    assert (effect.state, effect.attempts, effect.idempotency_key) == ("done", 2, keys[0])
    assert play.state(thread)["notes"] == ["saw 1", "pay 1"]
    assert len([c for c in world.calls if c[0] == "look"]) == 1
    assert play.intact(thread)


def test_it_is_lost_twice(play: Any_Bench) -> None:
    """Each attempt is asked about; a late answer to the first cannot meet the second."""
    thread = lost(play)
    world.lose = 1
    assert settle(play, thread, "not_happened").status is Status.ATTENTION
    (effect,) = effects(play, thread)
    assert (effect.state, effect.attempts) == ("unknown", 2)
    assert play.intact(thread)
    assert settle(play, thread, "happened", result="yes").status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 2
    assert len(set(world.keys("pay"))) == 1
    assert play.intact(thread)


def test_undo_it(play: Any_Bench) -> None:
    thread = lost(play)
    (key,) = world.keys("pay")
    row = settle(play, thread, "undo", reason="wrong account")
    assert row.status is Status.PAUSED
    assert row.status_reason == "'pay' is undone: wrong account. Resuming does it again."
    assert world.calls[-1] == ("take_back", 1, None, f"undo:{key}")
    (effect,) = effects(play, thread)
    assert (effect.state, effect.undo_result, effect.result) == ("compensated", "taken back", None)
    assert (row.step, row.branch) == (1, 0), "it stands where it stood"
    assert play.intact(thread)
    # On a person's word it is done again: another execution, with a key of its own.
    play.resume(thread)
    assert work(play, thread).status is Status.SUCCEEDED
    first, second = effects(play, thread)
    assert [e.state for e in (first, second)] == ["compensated", "done"]
    assert second.idempotency_key == world.keys("pay")[-1] != first.idempotency_key
    assert len([c for c in world.calls if c[0] == "look"]) == 1, "the rest of the step still holds"
    assert play.intact(thread)


def test_an_undone_effect_stands_behind_its_gate_again(play: Any_Bench) -> None:
    world.lose = 1
    thread = play.start(gated=True)
    assert work(play, thread).status is Status.WAITING
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.ATTENTION
    assert settle(play, thread, "undo").status is Status.PAUSED
    play.resume(thread)
    assert work(play, thread).status is Status.WAITING, "an approval is good for one execution"
    assert len(world.keys("pay")) == 1
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert len({e.approval for e in effects(play, thread)}) == 2
    assert play.intact(thread)


def test_an_undo_that_fails_is_tried_again_by_a_click(play: Any_Bench, monkeypatch: Any) -> None:
    monkeypatch.setattr(rollback, "PAUSES", ())
    thread = lost(play)

    def fails(args: Any, result: Any, *, key: str) -> None:
        raise unsure.Broken("the bank is closed")

    monkeypatch.setitem(unsure.pay.__dict__, "undo", fails)
    row = settle(play, thread, "undo")
    assert row.status is Status.ATTENTION
    assert "Not undone: pay of step 2" in row.status_reason
    (effect,) = effects(play, thread)
    assert effect.state == "unknown"
    monkeypatch.undo()
    play.retry(thread)
    assert work(play, thread).status is Status.PAUSED
    (effect,) = effects(play, thread)
    assert effect.state == "compensated"
    assert play.intact(thread)


def test_an_idempotent_tool_is_repeated_by_itself(play: Any_Bench) -> None:
    world.lose = 1
    thread = play.start(tool="send")
    assert work(play, thread).status is Status.SUCCEEDED
    keys = world.keys("send")
    assert (len(keys), len(set(keys))) == (2, 1)
    (effect,) = effects(play, thread)
    assert (effect.state, effect.attempts) == ("done", 2)
    assert play.kinds(thread).count("effect.finished") == 1
    assert "effect.settled" not in play.kinds(thread)


def test_the_key_is_that_of_the_position(play: Any_Bench) -> None:
    thread = play.start()
    work(play, thread)
    chain: Any = (
        play.book.row(thread).chain_id
        if isinstance(play, MemoryBench)
        else one("SELECT chain_id FROM gp_thread WHERE id = %s::uuid", (thread,))
    )
    place = deltas.canonical([str(chain), 0, 2, "act", 0, "pay#0"])
    assert world.keys("pay") == [hashlib.sha256(place).hexdigest()]


def test_what_is_refused(play: Any_Bench) -> None:
    thread = lost(play, "shout")
    (effect,) = effects(play, thread)
    with pytest.raises(NotAllowedNow):  # there is no undo
        settle(play, thread, "undo")
    for verdict in ("keep", "again", "undo_again"):  # answers to another question
        with pytest.raises(NotAllowedNow):
            settle(play, thread, verdict)
    with pytest.raises(InvalidValue):
        settle(play, thread, "happened", result=float("nan"))
    before = play.events(thread)
    (looked,) = [a for a in play.activities(thread) if a.tool == "look"]
    with pytest.raises(NotAllowedNow, match="Nothing is asked"):
        settle(play, thread, "happened", activity=looked.id)
    assert play.events(thread) == before
    settle(play, thread, "happened", activity=effect.id)
    with pytest.raises(AlreadySettled, match="answered already: it happened"):
        settle(play, thread, "not_happened", activity=effect.id)
    assert len(world.keys("shout")) == 1
    assert play.intact(thread)


def test_an_edit_takes_the_question_away_until_it_is_retried(play: Any_Bench) -> None:
    thread = lost(play)
    (effect,) = effects(play, thread)
    play.edit(thread, {"n": 2}, "another amount")
    with pytest.raises(NotAllowedNow):
        settle(play, thread, "happened", activity=effect.id)
    play.retry(thread)
    assert work(play, thread).status is Status.ATTENTION
    question = asked(play, thread)
    assert question is not None
    assert question.kind == "unknown", "first whether it happened, then what holds"
    # It did not: then nothing stands in the way of the new arguments, under a key of their own.
    assert settle(play, thread, "not_happened").status is Status.SUCCEEDED
    assert [c[:2] for c in world.calls if c[0] == "pay"] == [("pay", 1), ("pay", 2)]
    assert len(set(world.keys("pay"))) == 2
    assert play.intact(thread)


def test_a_repeatable_effect_that_was_lost_and_is_asked_otherwise_is_asked_about(
    play: Any_Bench,
) -> None:
    world.lose, world.broken = 1, True
    thread = play.start(tool="send")
    work_once = play.advance(thread)  # lost inside
    assert work_once.status is Status.QUEUED
    play.pause(thread)
    play.edit(thread, {"n": 2}, "another amount")
    play.resume(thread)
    row = work(play, thread)
    assert row.status is Status.ATTENTION
    assert "asked with other arguments now" in row.status_reason
    assert len(world.keys("send")) == 1


# ---- other arguments -----------------------------------------------------------------------------


def changed(bench: Any_Bench, **input: Any) -> UUID:
    """A thread whose node failed after its effect was done, edited and retried."""
    world.broken = True
    thread = bench.start(**input)
    if input.get("gated"):
        work(bench, thread)
        bench.decide(thread, "approve")
    assert work(bench, thread).status is Status.FAILED
    bench.edit(thread, {"n": 2}, "another amount")
    world.broken = False
    bench.retry(thread)
    row = work(bench, thread)
    assert row.status is Status.ATTENTION, row.status
    assert "happened here with other arguments" in row.status_reason
    return thread


@pytest.mark.requirement("C40")
def test_other_arguments_stop_in_attention_and_a_pure_activity_is_revised(
    play: Any_Bench,
) -> None:
    thread = changed(play)
    question = asked(play, thread)
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
    assert told(play, thread)["verdict"] == "keep"
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


def test_do_it_again(play: Any_Bench) -> None:
    thread = changed(play)
    assert settle(play, thread, "again").status is Status.SUCCEEDED
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
    assert settle(play, thread, "again").status is Status.SUCCEEDED
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


def test_again_stands_behind_the_gate_again(play: Any_Bench) -> None:
    thread = changed(play, gated=True)
    assert settle(play, thread, "again").status is Status.WAITING
    assert len(world.keys("pay")) == 1
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("pay")) == 2
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
        assert row.title == "Do 'shout' again?"
        assert row.description.startswith("Before the rollback, 'shout' was done at ")
        assert f'with {{"n":{n}}} and was not undone. It answered "shout {n}".' in row.description
        assert len(world.keys("shout")) == n + 1
        play.decide(thread, "approve")
    # The fourth and the fifth never happened before: nothing is asked.
    assert work(play, thread).status is Status.SUCCEEDED
    assert len(world.keys("shout")) == len(set(world.keys("shout"))) == 7
    # Back by one step of the new branch: only that one is asked about.
    play.roll_back(thread, play.row(thread).number - 1)
    play.resume(thread)
    assert work(play, thread).status is Status.WAITING
    assert 'with {"n":5}' in play.open(thread).description
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
    assert "nobody knows whether it happened" in play.open(thread).description
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
    assert row.title == "Do it?"
    assert "'shout' was done at " in row.description
    play.decide(thread, "approve")
    assert work(play, thread).status is Status.SUCCEEDED


@pytest.mark.requirement("B38")
def test_a_fork_says_what_its_base_has_done(play: Any_Bench) -> None:
    base = play.start(tool="shout", rounds=2)
    work(play, base)
    fork = play.fork(base, 1, {}, effects="ask")
    assert work(play, fork).status is Status.WAITING
    row = play.open(fork)
    assert row.description.startswith("In the thread that this one was forked from, 'shout' was")
    assert 'with {"n":1}' in row.description
    play.decide(fork, "approve")
    assert work(play, fork).status is Status.WAITING
    assert 'with {"n":2}' in play.open(fork).description
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


# ---- both ledgers, and the proof -----------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["happened", "not_happened", "undo", "keep", "undo_again"])
def test_both_ledgers_write_the_same_log(db: None, verdict: str) -> None:
    logs = []
    for bench in (bench_of(unsure), memory_bench_of(unsure)):
        world.clear()
        about_args = verdict in ("keep", "undo_again")
        thread = changed(bench) if about_args else lost(bench)
        settle(bench, thread, verdict, reason="so")
        logs.append(log_of(bench, thread))
    assert logs[0] == logs[1]


@pytest.mark.parametrize("verdict", ["happened", "not_happened", "undo"])
def test_an_altered_answer_is_found(db: None, verdict: str) -> None:
    bench = bench_of(unsure)
    world.clear()
    thread = lost(bench)
    settle(bench, thread, verdict, **({"result": {"sum": 5}} if verdict == "happened" else {}))
    (effect,) = effects(bench, thread)
    assert verify_thread(thread).intact
    (was,) = rows(
        "SELECT state, result::text, error, undo_result::text FROM gp_activity WHERE id = %s::uuid",
        (effect.id,),
    )
    for column, value in (
        ("state", "'unknown'"),
        ("result", "'{\"sum\": 6}'"),
        ("error", "'it was otherwise'"),
        ("undo_result", "'\"never\"'"),
    ):
        rows(f"UPDATE gp_activity SET {column} = {value} WHERE id = %s::uuid", (effect.id,))
        assert not verify_thread(thread).intact, column
        rows(
            "UPDATE gp_activity SET state = %s, result = %s::jsonb, error = %s, "
            "undo_result = %s::jsonb WHERE id = %s::uuid",
            (*was, effect.id),
        )
        assert verify_thread(thread).intact, column
