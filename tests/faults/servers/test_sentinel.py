"""Valkey behind sentinels: its clients, and Celery's, follow the master by configuration alone.

Three sentinels, as every guide says: two must agree to elect, and two alone split their votes. A
sentinel that was not scheduled for 2 s watches for 30 s before it acts again ("tilt"): deadlines
here are longer than that.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection
from kombu.exceptions import OperationalError

from dashboard.configuration.valkey import parse
from dashboard.operate.embedded.process.library import valkey_program
from dashboard.wire.valkey import async_client, client, sentinels_of
from tests.faults.bench import wait_until
from tests.faults.embedded.helpers import free_port

pytestmark = [pytest.mark.nightly, pytest.mark.hazard, pytest.mark.requirement("A09")]
PASSWORD = "p@ss/word"
TILT = 30
"""Seconds for which a sentinel that was held up does nothing but watch."""


@contextmanager
def opened(url: str) -> Iterator[redis.Redis]:
    """A client that leaves nothing open."""
    result = client(url, socket_timeout=2)
    try:
        yield result
    finally:
        for one in (result, *sentinels_of(result)):
            one.close()


@dataclass
class Watched:
    """A master, its replica and three sentinels."""

    url: str
    servers: dict[int, subprocess.Popen[bytes]]

    def master(self) -> int:
        """The port of who is master now."""
        with opened(self.url) as result:
            pool: Any = result.connection_pool
            return int(pool.get_master_address()[1])

    def sentinels(self) -> list[dict[str, Any]]:
        """What each sentinel that answers sees: the master, its peers, whether it is in tilt."""
        with opened(self.url) as result:
            return [dict(one.info("sentinel")) for one in sentinels_of(result)]


@pytest.fixture
def watched() -> Iterator[Watched]:
    from dashboard.operate.embedded.process.folders import folders

    home = Path(tempfile.mkdtemp(prefix="gp-", dir="/tmp"))
    program = str(valkey_program(folders(home)))
    first, second, *sentinels = (free_port() for _ in range(5))
    servers: dict[int, subprocess.Popen[bytes]] = {}

    def start(port: int, *more: str) -> None:
        (folder := home / str(port)).mkdir()
        servers[port] = subprocess.Popen(
            [program, *more, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)],
            stdout=subprocess.DEVNULL,
        )

    def ready_to_fail_over() -> bool:
        # Who does not know the others has nobody to vote with; who does not know the replica has
        # nobody to vote for.
        try:
            seen = [one["master0"] for one in made.sentinels()]
        except redis.RedisError:
            return False
        return [(one["sentinels"], one["slaves"]) for one in seen] == [(3, 1)] * 3

    def replicates() -> bool:
        try:
            with redis.Redis(port=first, password=PASSWORD) as master:
                return bool(master.info("replication")["connected_slaves"])
        except redis.RedisError:
            return False

    hosts = ",".join(f"127.0.0.1:{port}" for port in sentinels)
    made = Watched(f"sentinel://:p%40ss%2Fword@{hosts}/main/0", servers)
    secret = ("--requirepass", PASSWORD, "--primaryauth", PASSWORD, "--save", "")
    try:
        start(first, *secret)
        start(second, *secret, "--replicaof", f"127.0.0.1 {first}")
        # Sentinels ask a master for its replicas when they first see it, then every 10 s.
        wait_until(replicates, what="the replica")
        for port in sentinels:
            path = home / f"{port}.conf"
            path.write_text(
                f"sentinel monitor main 127.0.0.1 {first} 2\n"
                f'sentinel auth-pass main "{PASSWORD}"\n'
                "sentinel down-after-milliseconds main 500\n"
                "sentinel failover-timeout main 3000\n"
            )
            start(port, str(path), "--sentinel")
        wait_until(ready_to_fail_over, seconds=TILT, what="the sentinels know each other")
        yield made
    finally:
        for process in servers.values():
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


def works(watched: Watched) -> bool:
    """The hints' client, the hub's and Celery's each do their work."""
    payload = parse(watched.url).celery()
    try:
        with opened(watched.url) as result:
            result.publish("gatepost:hints", "{}")
        asyncio.run(publish(watched.url))
        with Connection(
            payload["BROKER_URL"], transport_options=payload["BROKER_TRANSPORT_OPTIONS"]
        ) as broker:
            queue = broker.SimpleQueue("own")
            queue.put({"thread": "1"})
            message = queue.get(timeout=2)
            message.ack()
            queue.close()
            return bool(message.payload == {"thread": "1"})
    except (redis.RedisError, OperationalError):
        return False


async def publish(url: str) -> None:
    result = async_client(url, socket_timeout=2)
    try:
        await result.publish("gatepost:hints", "{}")
    finally:
        for one in (result, *sentinels_of(result)):
            await one.aclose()


def test_everybody_follows_the_master(watched: Watched) -> None:
    assert works(watched)
    former = watched.master()
    watched.servers[former].kill()
    watched.servers[former].wait()

    def moved() -> bool:
        try:
            return works(watched) and watched.master() != former
        except redis.RedisError:
            return False

    wait_until(moved, seconds=TILT + 20, what=watched.sentinels)
