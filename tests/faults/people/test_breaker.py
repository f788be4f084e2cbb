"""A fleet at work is stopped and released, while its workers are killed and people pause threads.

CI stops 16 threads twice. BREAKER_THREADS=500 BREAKER_ROUNDS=100 does it at full size.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.breakers.rule import BreakerRow
from checkpoints.chain.workspaces import verify_workspace
from tests.faults.bench import SHORT, Case, Field, Worker, ask, wait_until, workers

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("G01")]
THREADS = max(16, int(os.environ.get("BREAKER_THREADS", 0)))
ROUNDS = max(2, int(os.environ.get("BREAKER_ROUNDS", 0)))
PATIENCE = 30 + 2 * THREADS  # for all threads to have had a turn
LIMIT = 5.0  # what a trip promises, in seconds
FIRST = 3  # threads of a staged release
# Many threads share few slots: with every other worker each works a moment and is handed back.
SLICES = {1: "0.2", 0: "60"}


class Fleet:
    """Two workers; one is killed at a time, and another one starts meanwhile."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.begun = self.kills = 0
        self.alive = [self.begin(), self.begin()]
        stack.enter_context(workers(*self.alive))

    def begin(self) -> Worker:
        self.begun += 1
        settings = SHORT | {"GATEPOST_SLICE_SECONDS": SLICES[self.begun % 2]}
        return Worker(self.folder, f"breaker-{self.begun}", slots=2, settings=settings)

    def strike(self) -> None:
        """kill -9 of the older one, in the middle of whatever it does."""
        self.alive.pop(0).kill()
        self.kills += 1

    def fill(self) -> None:
        """Wait for one that comes instead."""
        # Begun in this thread: a process ends with the thread that began it.
        came = self.begin()
        self.stack.enter_context(workers(came))
        self.alive.append(came)


def heads(cases: list[Case]) -> dict[UUID, UUID]:
    ids = [case.id for case in cases]
    return dict(ask("SELECT id, head FROM gp_thread WHERE id = ANY(%s)", ids))  # type: ignore[arg-type]


def leased(cases: list[Case]) -> int:
    """Threads that somebody works on, by the database's clock."""
    ids = [case.id for case in cases]
    [(n,)] = ask(
        "SELECT count(*) FROM gp_thread WHERE id = ANY(%s) AND lease_until > clock_timestamp()",
        ids,
    )
    return int(n)


def late(cases: list[Case], breaker: BreakerRow) -> list[tuple[UUID, float]]:
    """(thread, seconds after the trip) of steps of stopped threads past the limit."""
    return ask(  # type: ignore[return-value]
        "SELECT thread_id, extract(epoch FROM created_at - %s)::float FROM gp_checkpoint "
        "WHERE thread_id = ANY(%s) AND created_at > %s + make_interval(secs => %s)",
        breaker.opened_at,
        [case.id for case in cases],
        breaker.opened_at,
        LIMIT,
    )


def moved(cases: list[Case], since: dict[UUID, UUID]) -> set[UUID]:
    """Threads whose head is another one now."""
    now = heads(cases)
    return {ident for ident in now if now[ident] != since[ident]}


def wait_moved(cases: list[Case], since: dict[UUID, UUID], number: int | None = None) -> None:
    """Wait until so many of these threads, or all, have committed a step."""
    wanted = len(cases) if number is None else number
    wait_until(
        lambda: len(moved(cases, since)) == wanted,
        seconds=PATIENCE,
        what=lambda: f"{len(moved(cases, since))} of {wanted} go on",
    )


def wait_quiet(cases: list[Case]) -> None:
    """Wait until nobody works on any of them, within what a trip promises."""
    wait_until(lambda: not leased(cases), seconds=LIMIT, what=lambda: leased(cases))


def wait_paused(case: Case) -> None:
    wait_until(lambda: case.row().status == "paused", what=case.summary)


@contextmanager
def beside(work: threading.Thread) -> Iterator[None]:
    """Do something at the same time."""
    work.start()
    try:
        yield
    finally:
        work.join()


def test_a_fleet_is_stopped_and_released_while_workers_die(ground: Path, field: Field) -> None:
    dice = random.Random(7)
    with ExitStack() as stack:
        fleet = Fleet(ground, stack)
        cases = [field.start("thousand", upto=1_000_000) for _ in range(THREADS)]
        paused: set[UUID] = set()
        at_work, staged = 0, 0
        for _ in range(ROUNDS):
            working = [case for case in cases if case.id not in paused]
            began = heads(working)
            wait_moved(working, began)
            # People pause some, and let go some that they paused before.
            for ident in dice.sample(sorted(paused), len(paused) // 2):
                store.resume(ident, actor="user:7")
                paused.discard(ident)
            for case in dice.sample(working, 3):
                store.pause(case.id, actor="user:7")
                paused.add(case.id)
            at_work += leased(cases)

            strike = threading.Timer(dice.uniform(0, 0.5), fleet.strike)
            with beside(strike):
                breaker = store.trip_breaker(
                    field.workspace, {"agent": "thousand"}, reason="prices", actor="user:1"
                )
            newborn = field.start("thousand", upto=1_000_000)
            wait_quiet(cases)
            still = heads(cases)
            fleet.fill()  # a fresh worker finds nothing to do
            time.sleep(1)
            assert moved(cases, still) == set()
            assert late(cases, breaker) == []
            assert newborn.row().number == 0
            why = newborn.row().stopped
            assert why is not None
            assert why.reason == "prices"
            stopped = queries.breaker_progress(field.workspace)[breaker.id]
            # Those of killed workers run out; all others are queued.
            assert stopped.stopped + stopped.waits + stopped.at_work == len(cases) + 1

            # Some first: exactly these go on.
            n = store.release_breaker(
                breaker.id,
                workspace=field.workspace,
                reason="try a few",
                actor="user:1",
                number=FIRST,
            )[1]
            assert n == FIRST
            everyone = [*cases, newborn]
            still = heads(everyone)
            wait_moved(everyone, still, FIRST)
            time.sleep(0.5)
            first = moved(everyone, still)
            assert len(first) == FIRST
            assert not first & paused
            staged += len(first)

            store.release_breaker(
                breaker.id, workspace=field.workspace, reason="all", actor="user:1"
            )
            cases = everyone
            free = [case for case in cases if case.id not in paused]
            wait_moved(free, still)
            # A pause that was asked for at work comes before the next step.
            for case in cases:
                if case.id in paused:
                    wait_paused(case)
            assert moved([c for c in cases if c.id in paused], still) == set()
        assert fleet.kills == ROUNDS
        assert at_work >= ROUNDS
        assert staged == FIRST * ROUNDS
        statuses = {case.row().status for case in cases if case.id not in paused}
        assert statuses <= {"queued", "running"}
        for case in cases:
            store.cancel(case.id, actor="user:1")
    assert verify_workspace(field.workspace).intact
