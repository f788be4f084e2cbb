"""The server of plays: it needs nothing, disturbs nobody, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from checkpoints.signals import child_ended, thread_changed, thread_queued
from dashboard.operate.embedded import throwaway
from dashboard.operate.embedded.process.processes import alive
from tests.unit.workers.tree.agents import lead, reader
from workers.authoring.graph import END, Graph, State
from workers.node.context import Context
from workers.testing.harness import Harness

ROOT = Path(__file__).parents[4]
PLAY = """
from tests.unit.workers.tree.agents import lead, reader
from tests.unit.workers.tree.agents import lead, reader
from workers.authoring.graph import END, Graph, State
from workers.testing.harness import Harness

class Words(State):
    text: str = ""

graph = Graph("words", Words)

@graph.node(then=END)
def say(state, ctx):
    return {"text": ctx.ask("Which word?")}

def play():
    thread = Harness(graph).play()
    assert (thread.status, thread.state) == ("waiting", {"text": ""}), thread
    assert len(thread.open) == 1 and thread.verify() > 3
    return thread
"""


def environment() -> dict[str, str]:
    names = ("DJANGO", "GATEPOST", "DATA", "REDIS")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return clean | {"PYTHONPATH": str(ROOT)}


def run(tmp_path: Path, script: str) -> None:
    """Run a script as an author would, in a process of its own."""
    (tmp_path / "play.py").write_text(PLAY + script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "play.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.requirement("B12")
def test_a_play_needs_no_settings_no_broker_and_stands_beside_a_loop(tmp_path: Path) -> None:
    script = """
import asyncio, sys

play()
async def notebook():
    thread = play()
    assert str(thread).count("approval.requested") == 1
asyncio.run(notebook())
from django.conf import settings
assert not settings.configured
assert not [m for m in sys.modules if m.partition(".")[0] in ("celery", "redis", "kombu")]
"""
    run(tmp_path, script)


@pytest.mark.slow
@pytest.mark.requirement("B12")
def test_a_node_sees_the_database_of_its_authors_project(tmp_path: Path) -> None:
    """A project without Gatepost among its apps, whose tests may reach no database at all."""
    script = """
import unittest
import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    USE_TZ=False,
    TIME_ZONE="America/Lima",
)
django.setup()
from django.db import connection
from django.test import SimpleTestCase

class Row(State):
    vendor: str = ""

project = Graph("project", Row)

@project.node(then=END)
def look(state, ctx):
    return {"vendor": ctx.activity(vendor)}

def vendor():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 7")
        return f"{connection.vendor} {cursor.fetchone()[0]}"

thread = Harness(project).play()
assert thread.state == {"vendor": "sqlite 7"}, thread
assert thread.events[0].at.utcoffset().total_seconds() == 0
assert connection.vendor == "sqlite"

class Alone(SimpleTestCase):
    def test_a_play_is_no_query_of_the_project(self):
        play()

alone = unittest.defaultTestLoader.loadTestsFromTestCase(Alone)
assert unittest.TextTestRunner().run(alone).wasSuccessful()
"""
    run(tmp_path, script)


def started(tmp_path: Path, script: str) -> subprocess.Popen[str]:
    """A process that has played, has printed its server's folder and process, and waits."""
    (tmp_path / "play.py").write_text(
        PLAY + script + "\nplay()\nfrom workers.testing.server import server\n"
        "print(server().socket_folder, server().process.pid, flush=True)\ninput()\n"
    )
    return subprocess.Popen(
        [sys.executable, "play.py"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wait(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.requirement("B12")
@pytest.mark.parametrize("killed", ["owner", "server", "both"])
def test_nothing_is_left_after_a_kill(tmp_path: Path, killed: str) -> None:
    """The folder in memory goes with its owner; or with the next server, where both are killed."""
    with started(tmp_path, "") as owner:
        assert owner.stdout is not None
        socket, pid = owner.stdout.readline().split()
        folder = Path(socket).parent
        postgres = int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        assert alive(postgres)
        if killed != "owner":
            os.kill(int(pid), signal.SIGKILL)
        owner.send_signal(signal.SIGKILL)
    try:
        wait(lambda: not alive(postgres))
        if killed != "owner":
            assert folder.exists()
            throwaway.remove_abandoned(folder.parent, after_seconds=0)
        wait(lambda: not folder.exists())
    finally:  # of a run that fails nothing stays either
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


class Order(State):
    done: str = ""


graph = Graph("order", Order)


@graph.node(then=END)
def decide(state: Order, ctx: Context) -> dict[str, Any]:
    return {"done": str(ctx.ask("Now?", expires_in=3600))}


def test_each_harness_has_a_clock_of_its_own() -> None:
    one, other = Harness(graph).play(), Harness(graph).play()
    late = other.pass_time(7200)
    assert (late.status, [a.status for a in late.approvals]) == ("failed", ["expired"])
    assert one.go_on().status == "waiting"
    assert (late.events[-1].at - one.events[-1].at).total_seconds() > 7190
    assert [a.status for a in one.approvals] == ["pending"]
    assert (late.verify(), one.verify()) == (len(late.events), len(one.events))


def test_nobody_is_told_of_a_play() -> None:
    heard: list[Any] = []

    def hear(**news: Any) -> None:
        heard.append(news)

    signals = (thread_changed, thread_queued, child_ended)
    for signal_ in signals:
        signal_.connect(hear)
    try:
        thread = Harness(lead, agents=[reader]).play({"files": ["a", "b"], "need": 2})
    finally:
        for signal_ in signals:
            signal_.disconnect(hear)
    assert (thread.status, thread.state["texts"]) == ("succeeded", ["A", "B"])
    assert heard == []


def test_a_forked_child_plays_on_a_connection_of_its_own() -> None:
    thread = Harness(graph).play()
    child = os.fork()
    if not child:
        os._exit(0 if Harness(graph).play().status == "waiting" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert thread.verify() == len(thread.events)
