"""A doorbell does not wait for a turn of Celery's loop."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from celery.bin.worker import WorkersPool

from workers.celery import app
from workers.pool import Pool

# Forks, so in a process of its own. The loop is never turned before the question.
ONE_SLOT = """
import operator, os, time
from kombu.asynchronous import Hub, set_event_loop
from kombu.asynchronous.semaphore import LaxBoundedSemaphore
from workers.celery import app
from workers.pool import Pool

hub = Hub()
set_event_loop(hub)
more = {"semaphore": LaxBoundedSemaphore(1), "sched_strategy": "fair"}
more |= {"threads": False, "putlocks": False, "forking_enable": True}
pool = Pool(1, initargs=(app, "one"), app=app, **more)
pool.start()
slots = pool._pool
pool.register_with_event_loop(hub)
loop = hub.create_loop()
while not slots._all_inqueues:
    next(loop)
seen = []
for n in range(2):
    pool.apply_async(operator.add, (n, 40), callback=seen.append)
    print("left", len(slots.outbound_buffer))
deadline = time.monotonic() + 20
while len(seen) < 2 and time.monotonic() < deadline:
    next(loop)
print("seen", sorted(seen), flush=True)
pool.terminate()
os._exit(0)
"""


@pytest.mark.parametrize(("given", "meant"), [("prefork", Pool), ("threads", None)])
def test_it_is_what_prefork_means(given: str, meant: type | None) -> None:
    context = click.Context(click.Command("worker"), obj=type("Given", (), {"app": app}))
    found = WorkersPool().convert(given, None, context)
    assert (found is Pool) == (meant is Pool)


def test_an_idle_slot_gets_it_at_once_and_what_no_slot_can_take_waits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONE_SLOT], capture_output=True, text=True, timeout=60
    )
    said = done.stdout.split("\n")
    # The first is with the slot before the loop turns; the second waits until that is free.
    assert said[:3] == ["left 0", "left 1", "seen [40, 41]"], done.stdout + done.stderr
