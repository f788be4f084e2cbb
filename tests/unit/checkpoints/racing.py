"""Races on real connections: several threads of this process, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection


def race(rounds: int, *racers: Callable[[int], Any]) -> list[tuple[Any, ...]]:
    """Let all racers do round after round at once; what each answered (or raised), per round.

    They meet before each round, so that every round is a race; the database must commit for real
    (fixture `real_db`).
    """
    results: list[list[Any]] = [[] for _ in racers]
    meeting = threading.Barrier(len(racers), timeout=30)

    def run(racer: Callable[[int], Any], answers: list[Any]) -> None:
        try:
            for number in range(rounds):
                meeting.wait()
                try:
                    answers.append(racer(number))
                except Exception as error:
                    answers.append(error)
        finally:
            connection.close()

    runners = [
        threading.Thread(target=run, args=pair) for pair in zip(racers, results, strict=True)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert [len(answers) for answers in results] == [rounds] * len(racers)
    return list(zip(*results, strict=True))


def outcomes(answers: Sequence[tuple[Any, ...]], kind: type[Exception]) -> list[int]:
    """Per racer how often it won; each round must have one winner and else only `kind`."""
    won = [0] * len(answers[0])
    for answer in answers:
        winners = [n for n, one in enumerate(answer) if not isinstance(one, Exception)]
        assert len(winners) == 1, answer
        assert all(isinstance(one, kind) for one in answer if isinstance(one, Exception)), answer
        won[winners[0]] += 1
    return won
