"""What strikes without killing: garbage in the queue, a frozen lock, a full disk, a clock step."""

from __future__ import annotations

import json
import random
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from redis import Redis
from redis.exceptions import ResponseError

from dashboard.operate.embedded.process.folders import Folders
from tests.faults.queue.poisons import poisons

POISONS = 60
FULL_SECONDS = 2.0
FROZEN_SECONDS = 4.0
STEP_BACK = "interval '1 hour'"


def valkey(places: Folders) -> Redis:
    """A client of the ground's own server."""
    return Redis(unix_socket_path=str(places.valkey_socket), socket_timeout=10)


def waiting_steps(places: Folders) -> list[dict[str, Any]]:
    """The steps that wait in the hot store: thread, checkpoint, number and hash of the state."""
    steps = []
    with Redis(unix_socket_path=str(places.hot_socket), socket_timeout=10) as client:
        for member in client.smembers("gatepost:hot:threads"):
            thread = member.decode()
            for _, fields in client.xrange(f"gatepost:hot:{thread}"):
                # A line with all but the delta, then the delta.
                entry = json.loads(fields[b"step"].partition(b"\n")[0])
                steps.append(
                    {"thread": thread, "checkpoint": entry["id"], "number": entry["number"],
                     "state_hash": entry["state_hash"]}
                )  # fmt: skip
    return steps


def poison_queue(places: Folders, chance: random.Random) -> None:
    """Garbage of every kind into the queue from which all workers take."""
    with valkey(places) as client:
        client.lpush("gatepost", *poisons(POISONS, seed=chance.randrange(10**6)))


@contextmanager
def full_disk(places: Folders) -> Iterator[None]:
    """Valkey can write no snapshot and so refuses each write with MISCONF, a real one."""
    folder = places.valkey
    mode = stat.S_IMODE(folder.stat().st_mode)
    with valkey(places) as client:
        folder.chmod(0o500)
        client.config_set("save", "3600 1")
        try:
            client.bgsave()
            deadline = time.monotonic() + 10
            while not _refuses(client):
                if time.monotonic() > deadline:
                    raise RuntimeError("Valkey still takes writes though it cannot save them")
                time.sleep(0.05)
            yield
        finally:
            client.config_set("save", "")
            folder.chmod(mode)


def _refuses(client: Redis) -> bool:
    try:
        client.set("chaos", "x", ex=1)
    except ResponseError as error:
        return str(error).startswith("MISCONF")
    return False


@contextmanager
def frozen_lock(address: str, thread: UUID) -> Iterator[None]:
    """Somebody holds a thread's row and does not let go."""
    with psycopg.connect(address) as held:
        held.execute("SELECT 1 FROM gp_thread WHERE id = %s FOR UPDATE", [thread])
        yield
        held.rollback()


def step_clock_back(address: str) -> None:
    """What was written by the clock so far lies in the future, as after a step back."""
    with psycopg.connect(address) as link:
        for statement in (
            "UPDATE gp_thread SET lease_until = lease_until + {} WHERE lease_until IS NOT NULL",
            "UPDATE gp_worker SET seen_at = seen_at + {}",
            "UPDATE gp_duty SET until = until + {} WHERE name = 'sweep'",
        ):
            link.execute(statement.format(STEP_BACK))  # type: ignore[arg-type]
