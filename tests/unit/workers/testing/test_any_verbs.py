"""Chance decides what people do; every log fits its hashes afterwards."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from checkpoints.errors import GatepostError
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import samples
from tests.unit.workers.graphs.samples import counter

VERBS = 14


def work(bench: Bench, thread: Any) -> None:
    """As a worker would, while there is something to do."""
    while bench.row(thread).status in (Status.QUEUED, Status.ROLLING_BACK):
        bench.advance(thread)


def play(bench: Bench, folder: Path, seed: int) -> tuple[list[Any], list[str]]:
    """(threads, what each verb led to); the same seed means the same verbs."""
    chance = random.Random(seed)
    threads = [bench.start(folder=str(folder), rounds=chance.randint(1, 3))]
    messages = []
    work(bench, threads[0])
    for _ in range(VERBS):
        thread = chance.choice(threads)
        number = chance.randint(0, bench.row(thread).number)
        verb = chance.choice(
            ["approve", "reject", "fork", "roll_back", "resume", "edit", "pause", "ahead", "retry"]
            + ["send", "cancel"] * (chance.random() < 0.3)
        )
        try:
            if verb in ("approve", "reject"):
                if any(a.open for a in bench.approvals(thread)):
                    bench.decide(thread, verb, "because")
            elif verb == "fork":
                changes = {"goal": f"goal {number}"}
                threads.append(bench.fork(thread, number, changes, effects="ask"))
                thread = threads[-1]
            elif verb == "roll_back":
                bench.begin_roll_back(thread, number)
            elif verb == "edit":
                bench.edit(thread, {"goal": "edited", "rounds": number + 1}, "on second thought")
            elif verb == "ahead":
                bench.pause(thread, before_node="buy")
            elif verb == "send":
                bench.send(thread, "hello")
            else:
                getattr(bench, verb)(thread)
        except GatepostError as error:
            verb = f"{verb} refused: {type(error).__name__}: {error}"
        work(bench, thread)
        row = bench.row(thread)
        messages.append(f"{verb} -> {row.status} {row.step} {row.branch} {row.status_reason}")
    return threads, messages


@pytest.mark.slow
@pytest.mark.requirement("B12")
@pytest.mark.parametrize("seed", range(16))
def test_whatever_people_do_each_log_fits_its_hashes(db: None, tmp_path: Path, seed: int) -> None:
    counter.calls.clear()
    bench = bench_of(samples)
    threads, _ = play(bench, tmp_path, seed)
    assert all(bench.intact(thread) for thread in threads)


@pytest.mark.slow
def test_chance_leads_to_much(db: None, tmp_path: Path) -> None:
    """The plays above are no empty ones."""
    messages, bench = [], bench_of(samples)
    for seed in range(12):
        messages += play(bench, tmp_path, seed)[1]
    for verb in ("approve ->", "reject ->", "fork ->", "roll_back ->", "resume ->", "edit ->"):
        assert sum(verb in line for line in messages) >= 3, verb
    assert sum("refused" in line for line in messages) >= 20
    statuses = {line.split(" -> ")[1].split()[0] for line in messages}
    assert {"waiting", "paused", "succeeded", "cancelled"} <= statuses
