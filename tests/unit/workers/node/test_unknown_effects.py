"""Effects on which a person decides since their outcome is unknown: a worker was lost in them.

Each test runs on the real store and on the ledger in memory.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from checkpoints.chain import verify_thread
from checkpoints.errors import AlreadySettled, InvalidValue, NotAllowedNow
from checkpoints.state import deltas
from checkpoints.states import Status
from tests.unit.checkpoints.builders import one, rows
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs.effects import unsure
from tests.unit.workers.graphs.effects.settled import (
    Any_Bench,
    answer_of,
    effects,
    lost,
    open_question,
    settle,
    work,
)
from tests.unit.workers.graphs.effects.unsure import world
from workers.engine import rollback

# ---- an unknown outcome --------------------------------------------------------------------------


def test_a_lost_effect_is_shown_as_unknown_and_asked_about(play: Any_Bench) -> None:
    thread = lost(play)
    (effect,) = effects(play, thread)
    assert (effect.state, effect.attempts) == ("unknown", 1)
    assert "nobody knows yet whether it happened" in effect.error
    question = open_question(play, thread)
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
    message = answer_of(play, thread)
    assert (message["verdict"], message["reason"]) == ("happened", "asked the bank")
    assert message["activity"] == str(effect.id)
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


@pytest.mark.requirement("B38")
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


@pytest.mark.requirement("B38")
def test_the_key_is_that_of_the_position(play: Any_Bench) -> None:
    thread = play.start()
    work(play, thread)
    chain = one("SELECT chain_id FROM gp_thread WHERE id = %s::uuid", (thread,))
    position = deltas.canonical([str(chain), 0, 2, "act", 0, "pay#0"])
    assert world.keys("pay") == [hashlib.sha256(position).hexdigest()]


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
    question = open_question(play, thread)
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


# ---- the proof -----------------------------------------------------------------------------------


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
