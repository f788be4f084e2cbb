"""DBOS Transact: many workflows at once, each of which makes steps that answer one message.

The task: `{address, steps, size, workflows, slots, processes}`. Each process calls workflows in
threads of its own, `slots` in all: none goes through DBOS's queue, which polls once a second.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dbos import DBOS
from dbos_task import config, play
from probe import Probe, serve

TABLE = "dbos.operation_outputs"


def work(task: dict[str, Any], number: int, barrier: Any) -> None:
    """The share of one process; it stands at the barrier before and after."""
    slots = task["slots"] // task["processes"]
    workflows = task["workflows"] // task["processes"]
    DBOS(
        config=config(task["address"])
        | {"executor_id": f"peer-{number}", "sys_db_pool_size": slots + 4}
    )
    DBOS.launch()
    try:
        with ThreadPoolExecutor(slots) as pool:
            list(pool.map(lambda _: play(20, task["size"]), range(slots * 2)))
            barrier.wait()
            list(pool.map(lambda _: play(task["steps"], task["size"]), range(workflows)))
            barrier.wait()
    finally:
        DBOS.destroy()


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Steps per second of all processes, the rows of their steps counted afterwards."""
    # The tables are made once, before several processes would.
    DBOS(config=config(task["address"]))
    DBOS.launch()
    DBOS.destroy()
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(task["processes"] + 1, timeout=600)
    workers = [
        context.Process(target=work, args=(task, number, barrier), daemon=True)
        for number in range(task["processes"])
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    probe = Probe(task["address"])
    began, before = time.perf_counter(), probe.rows(TABLE)
    barrier.wait()
    seconds = time.perf_counter() - began
    count = probe.rows(TABLE) - before
    for worker in workers:
        worker.join()
    return {"steps": count, "seconds": seconds, "steps_per_second": count / seconds}


if __name__ == "__main__":
    serve(answer)
