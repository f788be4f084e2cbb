"""A test that fails beside others must pass three times alone; nothing else turns a run green."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

COUNTED = """
from pathlib import Path

def test_counted():
    calls = Path(__file__).with_name("calls")
    before = len(calls.read_text()) if calls.exists() else 0
    calls.write_text("." * (before + 1))
    assert before not in {failing}

def test_steady():
    assert True
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "green", "calls"),
    [
        ((), True, 1),
        ((0,), True, 4),
        ((0, 1), False, 2),
        ((0, 3), False, 4),
        (range(9), False, 2),
    ],
)
def test_what_fails_is_repeated(
    tmp_path: Path, failing: tuple[int, ...], green: bool, calls: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    file = tmp_path / "test_counted.py"
    file.write_text(COUNTED.format(failing=tuple(failing)))
    command = [sys.executable, "-m", "tests.house.lanes.alone", file.name]
    surroundings = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True)
    assert (done.returncode == 0) is green, done.stdout + done.stderr
    assert len((tmp_path / "calls").read_text()) == calls
    assert ("UNSTEADY" in done.stdout) is (green and calls > 1)
