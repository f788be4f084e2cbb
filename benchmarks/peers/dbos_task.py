"""DBOS Transact: a workflow of many steps, each of which answers one message.

Asked `{address, steps, size}`. DBOS keeps what its steps answered, not a state: there is none to be
read at a step, and a fork works the workflow again from its start, taking the answers it has.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from dbos import DBOS, SetWorkflowID
from probe import Probe, serve, text
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL


@DBOS.step()
def grow(number: int, size: int) -> str:
    """One message."""
    return text(number, size)


@DBOS.workflow()
def growing(steps: int, size: int) -> int:
    """The task."""
    log = []
    for number in range(steps):
        log.append(grow(number, size))
    return len(log)


def config(address: str) -> Any:
    """How DBOS is set up on the server of the bench."""
    return {"name": "peer", "system_database_url": _url(address), "run_admin_server": False}


def _url(address: str) -> str:
    parts = conninfo_to_dict(address)
    query = {name: str(parts[name]) for name in ("host", "port") if name in parts}
    url = URL.create(
        "postgresql",
        username=str(parts.get("user") or ""),
        password=parts.get("password"),
        database=str(parts["dbname"]),
        query=query,
    )
    return url.render_as_string(hide_password=False)


def answer(options: dict[str, Any]) -> dict[str, Any]:
    """Work the task once and measure it."""
    steps, size = options["steps"], options["size"]
    DBOS(config=config(options["address"]))
    DBOS.launch()
    try:
        probe = Probe(options["address"])
        play(20, size)
        before = probe.bytes()
        play(max(1, steps // 10), size)
        tenth = probe.bytes() - before
        before, xids = probe.bytes(), probe.transactions()
        began = time.perf_counter()
        workflow = play(steps, size)
        seconds = time.perf_counter() - began
        xids, stored = probe.transactions() - xids, probe.bytes() - before
        results = {
            "steps": steps,
            "steps_per_second": steps / seconds,
            "bytes": stored,
            "bytes_of_a_tenth": tenth,
            "growth": stored / tenth,
            "write_transactions_per_step": xids / steps,
        }
        if options.get("fork"):
            results |= _fork(workflow, steps // 2 + 1, probe)
        return results
    finally:
        DBOS.destroy()


def play(steps: int, size: int) -> str:
    """Work one workflow to its end; its id."""
    ident = str(uuid.uuid4())
    with SetWorkflowID(ident):
        growing(steps, size)
    return ident


def _fork(workflow: str, step: int, probe: Probe) -> dict[str, Any]:
    times, stored, xids, rounds = [], probe.bytes(), probe.transactions(), 7
    for _ in range(rounds):
        began = time.perf_counter()
        # On a queue that nobody listens to: only the call is timed.
        DBOS.fork_workflow(workflow, step, queue_name="nobody_listens")
        times.append(time.perf_counter() - began)
    return {
        "fork_ms": sorted(times)[rounds // 2] * 1e3,
        "fork_bytes": (probe.bytes() - stored) / rounds,
        "fork_write_transactions": (probe.transactions() - xids) / rounds,
    }


if __name__ == "__main__":
    serve(answer)
