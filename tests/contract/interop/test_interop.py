"""The command `make interop`: nothing counts that did not pass, and no kind of agent is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .scenarios import REQUIRED, ROOT, marked

GOOD = """
import pytest
@pytest.mark.interop("one")
def test_one(): pass
@pytest.mark.parametrize("kind", [
    pytest.param("two", marks=pytest.mark.interop("two")),
    pytest.param("three", marks=pytest.mark.interop("three")),
])
def test_others(kind): pass
def test_without_a_mark(): raise AssertionError("not asked for")
"""


def perform(folder: Path, text: str = GOOD, *required: str) -> str:
    """What the command prints for one test module, with its exit code."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = interop(kind): agent\n")
    (folder / "test_kinds.py").write_text(text)
    command = [sys.executable, "-m", "tests.contract.interop", "--tests", str(folder)]
    answer = subprocess.run(
        [*command, "--required", *required],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTEST_ADDOPTS": "-p no:django -p no:cacheprovider"},
    )
    return f"{answer.stderr}{answer.stdout}exit {answer.returncode}"


@pytest.mark.nightly
def test_it_prints_a_line_per_kind_and_a_sum(tmp_path: Path) -> None:
    printed = perform(tmp_path, GOOD, "one")
    rows = [line.split()[0] for line in printed.splitlines() if "1 passed in" in line]
    assert rows[-3:] == ["one", "three", "two"]
    assert printed.endswith("interop: 3 of 3\nexit 0")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "required", "why"),
    [
        (GOOD.replace("): pass", "): raise OSError", 1), (), "1 failed of 1"),
        (GOOD.replace("): pass", "): pytest.skip('no node')", 1), (), "1 skipped of 1"),
        (GOOD.replace("def test_one", "@pytest.mark.xfail\ndef test_one"), (), "1 xpassed of 1"),
        (GOOD.replace("def test_one", "def former_test_one"), (), "no test carries it"),
        (GOOD, ("curl",), "no test carries it"),
    ],
)
def test_what_did_not_pass_is_not_counted(
    text: str, required: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    printed = perform(tmp_path, text, *required)
    total = 3 + len(required)
    assert f"NOT PROVED  {why}" in printed
    assert printed.endswith(f"interop: {total - 1} of {total}\nexit 1")


def test_each_required_kind_has_a_scenario() -> None:
    assert set().union(*marked([ROOT / "tests"]).values()) >= REQUIRED
