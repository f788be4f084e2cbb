"""Runs the tests of `inside` in an environment that has LangGraph beside the product."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.faults.embedded.helpers import clean_environment
from tools import environments

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
BROWSER = ("GATEPOST_CHROMIUM", "GATEPOST_REQUIRE_BROWSER")
# Each entry is one process; those that need a web server and a worker share them.
RUNS = {
    "in_memory": ["test_graphs.py", "test_howto.py", "test_patterns.py", "test_store.py"],
    "on_workers": ["test_workers.py", "test_page.py", "test_store_elsewhere.py"],
}


def test_no_file_is_left_out() -> None:
    files = {path.name for path in (HERE / "inside").glob("test_*.py")}
    assert files == {name for names in RUNS.values() for name in names}


@pytest.mark.slow
@pytest.mark.requirement("A40")
@pytest.mark.requirement("E02")
@pytest.mark.requirement("F04")
@pytest.mark.parametrize("run", ["in_memory", "on_workers"])
def test_where_langgraph_is_installed(run: str) -> None:
    lock = HERE / "requirements.lock"
    python = environments.python("langgraph-workers", lock, with_ours=True)
    # It starts servers of its own: those of this run belong to other tests.
    environment = {
        name: value for name, value in clean_environment().items() if not name.startswith("PYTEST_")
    } | {name: os.environ[name] for name in BROWSER if name in os.environ}
    files = [str(HERE / "inside" / name) for name in RUNS[run]]
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:xdist", *files],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout
