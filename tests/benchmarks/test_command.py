"""The command itself: lines on stdout and nothing else, an exit code, and a handicap that shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def bench(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """(exit code, the lines, what went to stderr)."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("GATEPOST_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=280,
    )
    return done.returncode, [json.loads(row) for row in done.stdout.splitlines()], done.stderr


@pytest.mark.hazard
def test_a_handicap_in_the_write_path_turns_row_1_red() -> None:
    code, [found, clients], told = bench("--rows", "1,10", "--scale", "0.05", "--handicap", "25")
    assert code == 1, told
    # Row 10 calls the statement without Python: measured, each call counted as a checkpoint.
    assert clients["row"] == 10
    assert clients["parts"]["ratio_f2"]["value"] > 1
    assert found["row"] == 1
    assert found["ok"] is False
    assert found["handicap_ms"] == 25
    # It was measured, and it is the time that is missed; what needs no clock holds as ever.
    for name in ("ratio_f0", "ratio_f2"):
        part = found["parts"][name]
        assert part["value"] > part["budget"]
        assert part["ok"] is False
        assert part["baseline"] > 0
    assert found["parts"]["round_trips"]["ok"] is True
    assert found["timing_f0"]["step_ms"] > 25 > found["timing_f0"]["raw_ms"]


def test_a_row_that_does_not_exist_is_a_line_too() -> None:
    code, [found], _ = bench("--rows", "99")
    assert code == 1
    assert (found["row"], found["ok"]) == (99, False)
    assert "no row 99" in found["error"]


def test_rows_are_numbers() -> None:
    code, lines, told = bench("--rows", "one")
    assert code == 2
    assert not lines
    assert "numbers" in told
