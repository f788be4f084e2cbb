"""The verdict finds what is wrong with hot threads: each harm, done once to sound ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.faults.chaos.outcomes.judge import Judge
from tests.faults.chaos.outcomes.record import Record, Thread
from tests.faults.chaos.outcomes.sound import buffered

from . import hot_agents, tasks
from .test_verdict import ENDS, wrong

LOST = "steps that the hot store had, not there"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAOS_COUNTS", str(tmp_path_factory.mktemp("hot") / "counts.jsonl"))
        patch.setattr(hot_agents, "SECONDS", 0.0)
        patch.setattr(tasks, "HOT_STEPS", 40)
        patch.setattr(tasks, "HOT_COUNT_EVERY", 10)
        patch.setattr(tasks, "HOT_ASKS_AT", 20)
        yield buffered((1, 2))


@pytest.fixture
def record(sound: Record) -> Record:
    return copy.deepcopy(sound)


def first(record: Record) -> Thread:
    return next(iter(record.threads.values()))


def test_hot_threads_are_found_sound(record: Record) -> None:
    assert wrong(record) == {}
    assert Judge(record).hot() == 2
    assert Judge(record).trees() == {}


def lose_a_step(r: Record) -> None:
    first(r).state["log"].pop(17)


def double_a_step(r: Record) -> None:
    first(r).state["log"].insert(17, 17)


def lose_a_checkpoint(r: Record) -> None:
    del first(r).state_hashes[r.waited[12]["checkpoint"]]


def another_state(r: Record) -> None:
    r.waited[12]["state_hash"] = "0" * 64


def lose_a_thread(r: Record) -> None:
    r.threads.pop(r.waited[-1]["thread"])
    r.acknowledged.pop()


def say_that_steps_were_lost(r: Record) -> None:
    thread = first(r)
    thread.events.append((thread.last_seq + 1, "steps.lost", {}, float(thread.last_seq + 1)))
    thread.last_seq += 1


def act_again(r: Record) -> None:
    first(r).effects.append(replace(first(r).effects[0], key="again"))


def leave_it(r: Record) -> None:
    first(r).status = "sleeping"


def ask_nobody(r: Record) -> None:
    thread = first(r)
    thread.events = [
        (seq, "thread.noted" if kind == "approval.decided" else kind, data, at)
        for seq, kind, data, at in thread.events
    ]


@pytest.mark.requirement("A07")
@pytest.mark.requirement("A31")
@pytest.mark.parametrize(
    ("harm", "finds"),
    [
        (lose_a_step, {ENDS}),
        (double_a_step, {ENDS}),
        (lose_a_checkpoint, {LOST}),
        (another_state, {LOST}),
        (lose_a_thread, {LOST}),
        (say_that_steps_were_lost, {LOST}),
        (act_again, {ENDS}),
        (leave_it, {ENDS}),
        (ask_nobody, {ENDS}),
    ],
)
def test_harm_to_a_hot_thread_is_found(
    record: Record, harm: Callable[[Record], None], finds: set[str]
) -> None:
    harm(record)
    assert set(wrong(record)) == finds, wrong(record)
