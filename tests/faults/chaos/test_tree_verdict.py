"""The verdict finds what is wrong in a tree of agents: each harm, done once to a sound one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.chaos.outcomes.judge import Judge
from tests.faults.chaos.outcomes.record import Record, Thread
from tests.faults.chaos.outcomes.sound import grown

from .outcomes import trees
from .test_verdict import ENDS, wrong

COUNTS = "counted more than once"


@pytest.fixture(scope="module")
def kept_trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    home = tmp_path_factory.mktemp("trees")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAOS_COUNTS", str(home / "counts.jsonl"))
        yield grown(home, (1, 2, 3))


@pytest.fixture
def grove(kept_trees: Record) -> Record:
    return copy.deepcopy(kept_trees)


def all_of(record: Record, agent: str) -> list[Thread]:
    return [thread for thread in record.threads.values() if thread.agent == agent]


def joined(record: Record) -> dict[str, Any]:
    """The first child that the first lead names."""
    events = all_of(record, trees.LEAD)[0].events
    child: dict[str, Any] = next(d for _, kind, d, _ in events if kind == "child.joined")
    return child["children"][0]  # type: ignore[no-any-return]


def test_trees_are_found_sound(grove: Record) -> None:
    assert wrong(grove) == {}
    assert Judge(grove).trees() == {
        trees.LEAD: 2, trees.COUNTER: 16, trees.HEIR: 4, trees.RESEARCHER: 1, trees.WRITER: 1,
    }  # fmt: skip


def add_up_wrong(r: Record) -> None:
    all_of(r, trees.LEAD)[0].state["total"] += 1


def bear_twice(r: Record) -> None:
    other = copy.deepcopy(all_of(r, trees.COUNTER)[1])
    other.id, other.events, other.last_seq, other.effects = "other", [], 0, other.effects
    r.threads["other"] = other


def lose_a_child(r: Record) -> None:
    # One that counted itself: who handed over left that to the heir.
    counted = [
        thread
        for thread in all_of(r, trees.COUNTER)
        if all(kind != "thread.handed_off" for _, kind, *_ in thread.events)
    ]
    del r.threads[counted[-1].id]


def another_head(r: Record) -> None:
    joined(r)["checkpoint"] = "0"


def another_hash(r: Record) -> None:
    joined(r)["hash"] = "0" * 64


def another_state(r: Record) -> None:
    joined(r)["state_hash"] = "0" * 64


def hand_over_twice(r: Record) -> None:
    other = copy.deepcopy(all_of(r, trees.WRITER)[0])
    other.id, other.events, other.last_seq = "other", [], 0
    r.threads["other"] = other


def research_again(r: Record) -> None:
    thread = all_of(r, trees.RESEARCHER)[0]
    thread.effects.append(replace(thread.effects[0], key="again"))


def count_twice(r: Record) -> None:
    r.counts.append(r.counts[0] | {"key": "another"})


def leave_a_child(r: Record) -> None:
    all_of(r, trees.COUNTER)[1].status = "queued"


@pytest.mark.requirement("A07")
@pytest.mark.requirement("B35")
@pytest.mark.parametrize(
    ("harm", "finds"),
    [
        (add_up_wrong, {ENDS}),
        (bear_twice, {ENDS}),
        (lose_a_child, {ENDS, COUNTS}),
        (another_head, {ENDS}),
        (another_hash, {ENDS}),
        (another_state, {ENDS}),
        (hand_over_twice, {ENDS}),
        (research_again, {ENDS}),
        (count_twice, {COUNTS}),
        (leave_a_child, {ENDS}),
    ],
)
def test_harm_to_a_tree_is_found(
    grove: Record, harm: Callable[[Record], None], finds: set[str]
) -> None:
    harm(grove)
    assert set(wrong(grove)) == finds, wrong(grove)
