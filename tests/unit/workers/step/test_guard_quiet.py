"""What is no business of the guard: imports, logs, queries around nodes; and switching it off."""

from __future__ import annotations

import asyncio
import gc
import logging
import logging.handlers
import os
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import uvloop
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import connection

from dashboard.operate.doctor import unsafe
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs.guarded import Notes, played
from workers.authoring.graph import END, Graph
from workers.node.context import Context
from workers.slot import loop
from workers.testing.harness import Harness

# ---- no false alarms -----------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that nobody has compiled yet."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


class Leaving:
    """Takes its file along when it goes, as temporary files do."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.path, self.me = path, self

    def __del__(self) -> None:
        self.path.unlink()


@pytest.mark.slow
@pytest.mark.requirement("C19")
def test_imports_logs_and_finalisers_of_others_go_on(modules: Path) -> None:
    for number in range(200):
        text = "import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()\nhere = 1\n"
        (modules / f"late_{number}.py").write_text(text)
    log = logging.getLogger("tests.guard")
    log.propagate, log.level = False, logging.INFO
    delayed = logging.FileHandler(modules / "delayed.txt", delay=True)
    rolling = logging.handlers.RotatingFileHandler(
        modules / "rolling.txt", maxBytes=200, backupCount=2
    )
    log.addHandler(delayed)
    log.addHandler(rolling)
    left: list[Path] = []

    def drop(number: int) -> None:
        """Garbage of somebody else, which the node's own collection will find."""
        path = modules / f"left-{number}"
        Leaving(path)
        gone, folder = Leaving.__new__(Leaving), tempfile.mkdtemp(dir=modules)
        gone.path, gone.me = modules / f"also-{number}", gone
        gone.path.touch()
        weakref.ref(gone)
        weakref.finalize(gone, os.rmdir, folder)
        left.extend([path, gone.path, Path(folder)])

    def node(state: Notes, ctx: Context) -> dict[str, Any]:
        number = int(state.what)
        here = __import__(f"late_{number}").here
        log.info("node %d says something that fills a line", number)
        if number % 20 == 0:
            gc.collect()
        return {"out": [str(here)]}

    graph = Graph("many", Notes)
    graph.node("one", then=END)(node)
    harness = Harness(graph)
    gc.disable()
    try:
        for number in range(200):
            drop(number)
            thread = harness.play({"what": str(number)})
            assert (thread.status, thread.state["out"]) == ("succeeded", ["1"]), thread.reason
    finally:
        gc.enable()
        for handler in (delayed, rolling):
            log.removeHandler(handler)
            handler.close()
    gc.collect()
    assert [path for path in left if path.exists()] == []
    assert len(left) == 600
    assert (modules / "delayed.txt").read_text().count("\n") == 200
    assert (modules / "rolling.txt.1").exists()
    assert len(list((modules / "__pycache__").glob("late_*.pyc"))) == 200


@pytest.mark.slow
@pytest.mark.requirement("C19")
def test_many_threads_with_databases_and_valkey_around_raise_no_alarm(real_db: str) -> None:
    """Forty nodes at a time in eight threads, each between queries and commands of its own."""
    client = redis.Redis.from_url(django_settings.REDIS_URL)
    graph = Graph("busy", Notes)

    def around() -> int:
        return int(client.incr("tests:guard")) + User.objects.count()

    @graph.node(then=END)
    def one(state: Notes, ctx: Context) -> dict[str, Any]:
        ctx.think("between two")
        logging.getLogger("tests.busy").debug("seen")
        return {"out": [str(ctx.activity(around) > 0)]}

    bench = bench_of(SimpleNamespace(__name__="busy", __file__=__file__, graph=graph))
    ended: list[str] = []

    def work() -> None:
        try:
            for _ in range(40):
                around()
                ended.append(bench.advance(bench.start()).status_reason or "fine")
                around()
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert ended == ["fine"] * 320
    client.delete("tests:guard")
    client.close()


# ---- switched off, and the loop of activities ----------------------------------------------------


def test_it_can_be_switched_off_and_doctor_says_so(tmp_path: Path, settings: Any) -> None:
    def node(state: Notes, ctx: Context) -> dict[str, Any]:
        (tmp_path / "a").write_text("x")
        return {"out": ["written"]}

    assert played(node).status == "failed"
    assert played(node, guard=False).state["out"] == ["written"]
    assert played(node).status == "failed"  # of this play alone

    seen: Any = None
    assert (loop.guarding(), next(unsafe.guard(seen)).level) == (True, "ok")
    settings.GATEPOST_GUARD = False
    assert (loop.guarding(), next(unsafe.guard(seen)).level) == (False, "warning")


def test_an_activity_runs_on_a_plain_loop() -> None:
    async def which() -> str:
        return type(asyncio.get_running_loop()).__module__

    former = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    try:
        thread = played(lambda state, ctx: {"out": [ctx.activity(which)]})
    finally:
        asyncio.set_event_loop_policy(former)
    assert thread.state["out"] == ["asyncio.unix_events"]
