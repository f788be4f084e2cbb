"""A loop in the background: no error ends it, and its last call always comes."""

from __future__ import annotations

import queue
from typing import Any

import pytest
import structlog
from django.db import OperationalError

from checkpoints.postgres.background_loop import BackgroundLoop

PATIENCE = 30.0


@pytest.mark.parametrize("error", [OperationalError("away"), ValueError("a fault of ours"), None])
def test_no_error_ends_it_and_all_but_those_of_the_database_are_counted(error: Any) -> None:
    calls: queue.Queue[str] = queue.Queue()

    def turn() -> None:
        calls.put("turn")
        if error is not None:
            raise error

    loop = BackgroundLoop(
        "tested",
        turn,
        log=structlog.get_logger("gatepost.tested"),
        pause=lambda: 0.01,
        last=lambda: calls.put("last"),
        failed=lambda: calls.put("failed"),
    )
    loop.start()
    cycle = ["turn", "failed"] if isinstance(error, ValueError) else ["turn"]
    for expected in cycle * 3:
        assert calls.get(timeout=PATIENCE) == expected
    assert not loop.is_stopped
    assert loop.stop()
    assert loop.is_stopped
    left = [calls.get_nowait() for _ in range(calls.qsize())]
    assert left[-1] == "last"
    assert "last" not in left[:-1]


def test_what_never_began_is_stopped_at_once() -> None:
    loop = BackgroundLoop("tested", int, log=structlog.get_logger(), pause=float, last=int)
    assert loop.stop()
