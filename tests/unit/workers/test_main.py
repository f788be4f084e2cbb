"""The command of a worker, and collection of garbage in what serves for days."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.operate.embedded.arguments import from_command_line
from tests.faults.embedded.helpers import ROOT

# In place of its work it prints whether garbage is collected and what was frozen.
STARTS = """
import gc
from celery.apps.worker import Worker
Worker.start = lambda worker: print(gc.isenabled(), gc.get_freeze_count() > 100_000)
Worker.exitcode = 0
from workers.__main__ import main
main()
"""
POOL = """
from celery.apps.worker import Worker
Worker.start = lambda worker: print(worker.pool_cls.__module__)
Worker.exitcode = 0
from workers.__main__ import main
main()
"""
SERVES = "import gc, dashboard.asgi; print(gc.isenabled(), gc.get_freeze_count() > 100_000)"


AGENT = """
from gatepost import END, Graph, State

class Order(State):
    goal: str = "tea"

graph = Graph("orders-of-two", Order)

@graph.node(then=END)
def buy(state, ctx):
    return None
"""
UNUSABLE = {
    "two agents of one name": (
        {"first_of_two.py": AGENT, "second_of_two.py": AGENT},
        "first_of_two,second_of_two",
        "The modules 'first_of_two' and 'second_of_two' each hold an agent named 'orders-of-two'.",
    ),
    "no such module": ({}, "no_such_module", "No module named 'no_such_module'"),
    "a module that fails": ({"fails.py": "1 / 0"}, "fails", "ZeroDivisionError"),
    "a module without a graph": ({"empty.py": ""}, "empty", "'empty' holds no Graph"),
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", [STARTS, SERVES], ids=["worker", "web"])
def test_garbage_is_collected_again_after_the_start(text: str, real_db: str) -> None:
    done = run("-c", text)
    assert done.stdout.strip() == "True True", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "pool"), [((), "prefork"), (("--pool", "threads"), "thread")], ids=str
)
def test_slots_are_processes_unless_threads_are_chosen(
    options: tuple[str, ...], pool: str, real_db: str
) -> None:
    """Threads share an interpreter: one step that holds it costs all of them their leases."""
    done = run("-c", POOL, *options)
    assert done.stdout.strip() == f"celery.concurrency.{pool}", done.stderr
    assert from_command_line(options).pool == (options[-1] if options else "prefork")


def test_an_option_that_it_does_not_have_is_named() -> None:
    done = run("-m", "workers", "--pool", "rubber")
    assert done.returncode == 2
    assert "argument --pool: invalid choice: 'rubber'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("what", UNUSABLE)
def test_a_worker_whose_agents_cannot_be_loaded_ends_and_says_why(
    real_db: str, tmp_path: Path, what: str
) -> None:
    """It would listen and work on nothing; `up` prints the last line of its log."""
    files, modules, reason = UNUSABLE[what]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run(
        *("-m", "workers", "--concurrency", "1", "--hostname", "unusable@here"),
        GATEPOST_AGENTS=modules,
        GATEPOST_SHIPPED_AGENTS="false",
        PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}",
    )
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("The agents cannot be loaded: ")
    assert reason in last
