"""Row 18: steps that gatepost-client reports through the HTTP API, from processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from ... import parts
from ...budgets import F2_MS
from ...ground import percentile, workspace
from ...report import Measured
from ...servers import Bench

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks/agents/reporter.py"
SOURCES = ROOT / "clients/python/src"
STEPS, STEPS_TOGETHER = 400, 150
CLIENTS = 8


def measure(bench: Bench, scale: float) -> Measured:
    """One client alone, then eight at once, all steps of 1 KB; the rows are counted afterwards.

    A step's time is that of the whole call of the script's function. The rate is that of the time
    in which all eight are past their first steps and none has ended.
    """
    measured = Measured({})
    with parts.web(bench) as port:
        token = _token()
        for name, flush in (("f0", 0.0), ("f2", F2_MS)):
            bench.flush_takes(flush)
            try:
                alone = _together(port, token, 1, max(40, int(STEPS * scale)))
                measured.values[f"p50_{name}"] = percentile(alone[0]["ms"], 0.5)
                several = _together(port, token, CLIENTS, max(20, int(STEPS_TOGETHER * scale)))
            finally:
                bench.flush_takes(0)
            rate = _rate(several)
            measured.details[f"timing_{name}"] = {
                "p95_ms": round(percentile(alone[0]["ms"], 0.95), 2),
                "steps": len(alone[0]["ms"]),
                "rate_of_8": round(rate, 1),
                "p50_of_8_ms": round(percentile(several[0]["ms"], 0.5), 2),
            }
            if not flush:
                measured.values["rate"] = rate
    return measured


def _token() -> str:
    from django.contrib.auth import get_user_model

    from checkpoints import store
    from dashboard.identity import tokens

    user = get_user_model().objects.create_user(f"reporter-{uuid4().hex[:8]}")
    store.grant(workspace(), user.pk, "operator", actor="bench:1")
    return tokens.make(user, made_by="bench:1", scopes=["read", "start", "work"])[1]


def _together(port: int, token: str, clients: int, steps: int) -> list[dict[str, Any]]:
    """What so many clients print, each of which reports so many steps; counts their rows."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCES),
        "GATEPOST_URL": f"http://127.0.0.1:{port}",
        "GATEPOST_TOKEN": token,
    }
    names = [f"reported-{uuid4().hex[:12]}" for _ in range(clients)]
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(steps), name],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    answers = [process.communicate()[0] for process in processes]
    failed = [process.returncode for process in processes if process.returncode]
    if failed:
        raise RuntimeError(f"clients ended with {failed}")
    results = [json.loads(answer) for answer in answers]
    for name, result in zip(names, results, strict=True):
        if _committed(name) < len(result["ms"]):
            raise RuntimeError(f"{name}: fewer checkpoints than steps")
    return results


def _committed(name: str) -> int:
    from checkpoints import queries

    row = queries.thread_named(name, agent="bench-reporting", workspace=workspace())
    return 0 if row is None else row.number


def _rate(several: list[dict[str, Any]]) -> float:
    """Steps a second of all, in the time that each of them is at work."""
    began = max(result["began"] for result in several)
    ended = min(result["ended"] for result in several)
    if ended <= began:
        raise RuntimeError("the clients were not at work at the same time")
    shares = [_within(result, began, ended) for result in several]
    return sum(shares) / (ended - began)


def _within(result: dict[str, Any], began: float, ended: float) -> int:
    """How many steps of one client ended in this time; they follow each other without a pause."""
    at, count = result["began"], 0
    for milliseconds in result["ms"]:
        at += milliseconds / 1000
        count += began < at <= ended
    return count
