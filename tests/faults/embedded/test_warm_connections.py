"""Celery's fixup would open a new backend for each task; ours keeps one, and drops a broken one."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from redis import Redis

from tests.faults.embedded.helpers import ROOT
from tests.faults.embedded.warm_tasks import ANSWERS, backend

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]


@pytest.fixture
def client() -> Iterator[Redis]:
    with Redis.from_url(settings.REDIS_URL) as made:
        made.delete(ANSWERS)
        yield made


@pytest.fixture(params=["prefork", "threads"])
def worker(
    request: pytest.FixtureRequest, real_db: str, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with one slot, listening to a queue that no other worker knows."""
    reading, writing = os.pipe()
    log = tmp_path / "worker.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "celery", "--app", "workers.celery:app", "worker"),
                *("--pool", request.param, "--concurrency", "1", "--queues", "test-warm"),
                *("--include", "tests.faults.embedded.warm_tasks", "--loglevel", "WARNING"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ],
            env=os.environ
            | {
                "GATEPOST_ROLE": "worker",
                "GATEPOST_READY_FD": str(writing),
                "CELERY_SKIP_CHECKS": "1",
            },
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=(writing,),
            start_new_session=True,
        )
    os.close(writing)
    assert select.select([reading], [], [], 30)[0], log.read_text()
    assert os.read(reading, 1) == b"1", log.read_text()
    os.close(reading)
    yield process
    os.killpg(process.pid, 9)
    process.wait()


def answers(client: Redis, count: int) -> list[str]:
    """Ring `count` times, one after the other."""
    heard = []
    for _ in range(count):
        backend.apply_async(args=[settings.REDIS_URL], queue="test-warm")
        answer = client.blpop([ANSWERS], timeout=4)
        assert answer is not None, f"no answer after {heard}"
        heard.append(answer[1].decode())
    return heard


def test_one_backend_per_slot_and_a_broken_one_is_replaced(
    worker: subprocess.Popen[bytes], client: Redis
) -> None:
    heard = answers(client, 20)
    backends = {answer.split()[0] for answer in heard}
    threads = {answer.split()[1] for answer in heard}
    assert "lost" not in backends
    assert len(backends) == len(threads) == 1
    (pid,) = backends

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 2000)", [int(pid)])
        assert cursor.fetchone() == (True,)
    after = answers(client, 4)
    assert not [answer for answer in after if answer.startswith("lost")]
    assert len({answer.split()[0] for answer in after} | {pid}) == 2
