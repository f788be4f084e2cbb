"""Golden histories are never made again: git knows each of them as added, once, and never touched.

That their bytes fit MADE.json is test_golden's; who made both anew would pass there.
"""

from __future__ import annotations

import subprocess

import pytest

from .rows import FOLDER

MADE_ONCE = ("tests/unit/golden/v*", "tests/unit/golden/files")
TOUCHED = "--diff-filter=MDRT"


def git(*args: str) -> list[str]:
    """Lines of an answer; skips where the tree is no repository."""
    done = subprocess.run(
        ["git", *args], cwd=FOLDER.parents[2], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no history to look at: {done.stderr.strip()[:80]}")
    return done.stdout.split("\n")


def names(*args: str) -> set[str]:
    return {line for line in git(*args, "--name-only", "--", *MADE_ONCE) if line}


def test_no_commit_and_no_change_of_now_touches_a_history() -> None:
    assert not names("log", "--format=", TOUCHED)
    assert not names("diff", TOUCHED, "HEAD")


def test_no_sum_was_replaced() -> None:
    """In MADE.json lines are only added; a comma behind the last one is no change."""
    lines = git("log", "--format=", "-p", "-U0", "--", "tests/unit/golden/MADE.json")
    lines += git("diff", "-U0", "HEAD", "--", "tests/unit/golden/MADE.json")
    gone = [line[1:].strip().rstrip(",") for line in lines if line.startswith("- ")]
    now = (FOLDER / "MADE.json").read_text()
    assert all(line in now for line in gone), gone
