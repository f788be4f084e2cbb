"""A worker that ends when it is idle: not while it works, and not while something waits for it."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from checkpoints import leases, store
from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway
from dashboard.wire.valkey import client
from tests.unit.checkpoints.builders import make_agent, make_thread, rows
from tests.unit.workers.graphs import ephemeral
from workers import shared_page
from workers.slot import loop
from workers.slot.idle import Idle

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F14")]


@pytest.fixture(autouse=True)
def ended(monkeypatch: pytest.MonkeyPatch, settings: Any, hot_store: redis.Redis) -> list[int]:
    """The signals that the worker sent to itself; it serves the queue gatepost, without agents."""
    signals: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append(number))
    monkeypatch.setattr(loop, "agents", dict)
    monkeypatch.setattr(loop, "queues", lambda: ["gatepost"])
    monkeypatch.setattr(shared_page, "last_lease", lambda: 0.0)
    settings.GATEPOST_LEASE_SECONDS = 0.1
    # No message of another test's thread waits: databases end, Valkey stays.
    with client(settings.REDIS_URL) as valkey:
        valkey.delete(copies.WAITING)
    return signals


def idle(seconds: float = 0.05) -> Idle:
    """A watch whose time is over."""
    made = Idle(seconds)
    time.sleep(0.06)
    return made


def test_it_ends_as_after_sigterm_once_its_time_is_over(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [1000.0]
    monkeypatch.setattr("workers.slot.idle.time", SimpleNamespace(monotonic=lambda: at[0]))
    watch = Idle(300)
    at[0] += 299
    watch.turn()
    assert ended == []
    at[0] += 1
    watch.turn()
    assert ended == [signal.SIGTERM]


def test_a_lease_begins_the_time_anew(ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    at = [1000.0]
    monkeypatch.setattr("workers.slot.idle.time", SimpleNamespace(monotonic=lambda: at[0]))
    watch = Idle(300)
    at[0] += 301
    monkeypatch.setattr(shared_page, "last_lease", lambda: at[0] - 1)
    watch.turn()
    assert ended == []


def test_it_stays_while_a_thread_waits_for_it(ended: list[int]) -> None:
    make_thread(agent=make_agent("elsewhere", queue="another"))  # nothing for this one
    thread = make_thread()
    idle().turn()
    assert ended == []
    work = leases.acquire(thread, owner="worker:gone:1:boot")
    assert work is not None
    rows("UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 minute' "
         "RETURNING id")  # fmt: skip
    idle().turn()
    assert ended == []  # of a worker that is gone
    store.cancel(thread, actor="user:1")
    idle().turn()
    assert ended == [signal.SIGTERM]


def test_it_stays_while_it_cannot_know(ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    chat = SimpleNamespace(graph=ephemeral.graph, versions=())

    def away(**_: Any) -> None:
        raise ContentAway("The memory does not answer.")

    monkeypatch.setattr(loop, "agents", lambda: {"chat": chat})
    idle().turn()
    assert ended == [signal.SIGTERM]
    monkeypatch.setattr(copies, "waiting", away)
    idle().turn()
    assert len(ended) == 1
