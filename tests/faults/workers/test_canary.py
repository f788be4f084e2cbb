"""A worker counts while it takes and does work: stopped, wedged or cut off, it soon does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from checkpoints import queries
from checkpoints.models import Workspace
from tests.faults.bench import ROOT, Field, Worker, ask, wait_until, workers
from workers.slot.canary import EVERY_SECONDS, EXIT_DEAF

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("D07")]
# The last sign of life may be new, and it counts for as long as WORKER_ALIVE_SECONDS.
NOTICED = queries.WORKER_ALIVE_SECONDS + 2


def up(worker: Worker) -> bool:
    """Whether the fleet counts this very worker."""
    return any(w.alive and w.pid == worker.pid for w in queries.workers())


def seen(worker: Worker) -> float:
    ((at,),) = ask("SELECT extract(epoch FROM seen_at) FROM gp_worker WHERE pid = %s", worker.pid)
    return float(at)


def signs(worker: Worker) -> None:
    """It gives a sign of life after now."""
    wait_until(lambda: up(worker), what="its announcement")
    before = seen(worker)
    wait_until(lambda: seen(worker) > before, seconds=3 * EVERY_SECONDS, what="a sign of life")
    assert up(worker)


def made(ground: Path, folder: Path, name: str) -> Worker:
    """A worker with one slot, a queue and a pulse file of its own."""
    payload = {"GATEPOST_PULSE": str(folder / f"pulse-{name}"), "HAZARD_QUEUE": name}
    return Worker(ground, f"canary-{name}", queues=name, environment=payload)


def pulse(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """What a container's health check calls."""
    return subprocess.run(
        [sys.executable, "-m", "workers.pulse"],
        env=os.environ | {"GATEPOST_PULSE": str(folder / f"pulse-{name}")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=10,
    )


def waiting_canaries(worker: Worker) -> tuple[int, list[int]]:
    """How many lie in the broker for a worker, and how long their queue is kept (milliseconds)."""
    with Redis.from_url(settings.REDIS_URL) as valkey:
        keys = valkey.keys(f"gatepost.canary.*:{worker.pid}:*")
        return sum(valkey.llen(key) for key in keys), [valkey.pttl(key) for key in keys]


def test_who_counts(ground: Path, tmp_path: Path) -> None:
    """Side by side: one whose main process is stopped, one whose slots hang, one at long work."""
    assert pulse(tmp_path, "hung").returncode == 1  # not started yet
    three = [made(ground, tmp_path, name) for name in ("stopped", "hung", "busy")]
    with workers(*three) as (stopped, hung, busy):
        for worker in three:
            signs(worker)
        assert pulse(tmp_path, "hung").returncode == 0
        field = Field(tmp_path, Workspace.objects.create(name="canary").id)
        case = field.play("look a, look b", agent="script-busy", hold=("in-a",))
        case.wait_called("a")
        os.kill(stopped.pid, signal.SIGSTOP)
        for slot in hung.slots():  # the main process beats on; nothing that it takes is done
            os.kill(slot, signal.SIGSTOP)
        struck, gone, looked = time.monotonic(), dict[str, float](), 0
        while time.monotonic() - struck < NOTICED + EVERY_SECONDS:
            # All its slots are at work: nobody can answer, and nobody needs to.
            assert up(busy)
            for worker in (stopped, hung):
                if not up(worker):
                    gone.setdefault(worker.name, time.monotonic() - struck)
            looked += 1
            time.sleep(0.25)
        assert looked > 40
        assert len(gone) == 2, gone
        assert max(gone.values()) <= NOTICED, gone
        waiting, saved = waiting_canaries(hung)
        assert 1 <= waiting <= 6
        assert all(0 < left <= 60_000 for left in saved)
        payload = wait_until(lambda: pulse(tmp_path, "hung").stderr, seconds=10)
        assert "seconds ago" in payload
        assert pulse(tmp_path, "busy").returncode == 0

        os.kill(stopped.pid, signal.SIGCONT)
        for slot in hung.slots():
            os.kill(slot, signal.SIGCONT)
        for worker in (stopped, hung):
            wait_until(lambda w=worker: up(w), seconds=2 * EVERY_SECONDS, what="coming back")
        case.go("in-a")
        case.wait_status("succeeded")
        wait_until(lambda: waiting_canaries(hung)[0] == 0, what="stale canaries dropped")
        ((queues,),) = ask("SELECT queues::text FROM gp_worker WHERE pid = %s", busy.pid)
        assert "canary" not in queues


def test_lines_of_a_worker_say_where_they_come_from(ground: Path, tmp_path: Path) -> None:
    payload = {"GATEPOST_LOG_FORMAT": "json", "GATEPOST_LOG_LEVEL": "INFO", "HAZARD_QUEUE": "said"}
    made = Worker(ground, "said", queues="said", environment=payload)
    with workers(made):
        field = Field(tmp_path, Workspace.objects.create(name="said").id)
        case = field.play("look a", "say hello", agent="script-said")
        case.wait_status("succeeded")
    lines = made.log.read_text().splitlines()
    results = [json.loads(line) for line in lines if line.startswith("{")]  # beside Celery's banner
    (line,) = [line for line in results if line["event"] == "hello"]
    assert (line["thread"], line["agent"]) == (str(case.id), "script-said")
    assert (line["step"], line["node"], line["fence"]) == (2, "play", 1)


@pytest.mark.parametrize("wedged", [False, True])
def test_a_worker_that_takes_no_messages_ends_itself(
    ground: Path, tmp_path: Path, wedged: bool
) -> None:
    """It gives way to one that listens; at once where its main loop takes no signal either."""
    (ground / "deaf.py").write_text(
        "import os, signal, threading\n"
        "from celery.signals import worker_ready\n"
        "from workers.broker import transport\n"
        "from workers.slot import canary\n"
        # One that takes signals has the time to end that a busy machine needs.
        "canary.EVERY_SECONDS, canary.GIVE_UP_RINGS = 0.5, 4\n"
        f"canary.ENDING_RINGS = {4 if wedged else 40}\n"
        "def deaf(answer, **_options): return None\n"
        "transport.read_bell = deaf\n"
        "@worker_ready.connect\n"
        "def wedge(**_kwargs):\n"
        f"    {wedged} and signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "from own_agents import *\n"
    )
    worker = Worker(
        ground,
        f"deaf-{wedged}",
        queues="deaf",
        environment={"GATEPOST_AGENTS": "deaf", "HAZARD_QUEUE": "deaf"},
    )
    with workers(worker):
        assert worker.process.wait(30) == (EXIT_DEAF if wedged else 0)
        assert "worker.takes_no_messages" in worker.log.read_text()
