"""The command itself: lines on stdout and nothing else, an exit code, and a handicap that shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


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


@pytest.mark.nightly
@pytest.mark.hazard
def test_a_handicap_in_the_write_path_turns_row_1_red() -> None:
    code, [result, clients], payload = bench(
        "--rows", "1,10", "--scale", "0.05", "--handicap", "25"
    )
    assert code == 1, payload
    # Row 10 calls the statement without Python: measured, each call counted as a checkpoint.
    assert clients["row"] == 10
    assert clients["parts"]["ratio_f2"]["value"] > 1
    assert result["row"] == 1
    assert result["ok"] is False
    assert result["handicap_ms"] == 25
    # It was measured, and it is the time that is missed; what needs no clock holds as ever.
    for name in ("ratio_f0", "ratio_f2"):
        part = result["parts"][name]
        assert part["value"] > part["budget"]
        assert part["ok"] is False
        assert part["baseline"] > 0
    assert result["parts"]["round_trips"]["ok"] is True
    assert result["timing_f0"]["step_ms"] > 25 > result["timing_f0"]["raw_ms"]


@pytest.mark.nightly
@pytest.mark.hazard
def test_children_of_one_parent_are_measured() -> None:
    _, [result], payload = bench("--rows", "15", "--scale", "0.03")
    assert result.get("children") == 300, (result, payload)
    assert result["parts"]["writes"]["ok"] is True
    assert result["parts"]["child"]["value"] > 0


def test_a_row_that_does_not_exist_is_a_line_too() -> None:
    code, [result], _ = bench("--rows", "99")
    assert code == 1
    assert (result["row"], result["ok"]) == (99, False)
    assert "no row 99" in result["error"]


def test_rows_are_numbers() -> None:
    code, lines, payload = bench("--rows", "one")
    assert code == 2
    assert not lines
    assert "numbers" in payload
