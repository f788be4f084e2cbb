"""The command of a worker, and collection of garbage in what serves for days."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.embedded.helpers import ROOT

# In place of its work it prints whether garbage is collected and what was frozen.
STARTS = """
import gc
from celery.apps.worker import Worker
Worker.start = lambda worker: print(gc.isenabled(), gc.get_freeze_count() > 100_000)
Worker.exitcode = 0
from workers.__main__ import main
main()
"""
SERVES = "import gc, dashboard.asgi; print(gc.isenabled(), gc.get_freeze_count() > 100_000)"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", [STARTS, SERVES], ids=["worker", "web"])
def test_garbage_is_collected_again_after_the_start(text: str, real_db: str) -> None:
    done = run("-c", text)
    assert done.stdout.strip() == "True True", done.stderr


def test_an_option_that_it_does_not_have_is_named() -> None:
    done = run("-m", "workers", "--pool", "rubber")
    assert done.returncode == 2
    assert "argument --pool: invalid choice: 'rubber'" in done.stderr
