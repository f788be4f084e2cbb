"""`make check` runs the quick tests beside lint, then slow ones and those that need processes.

The rules of the code (tests/house/architecture) are a part of lint; `make test-all` runs all.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LANES = ("test", "test-slow", "test-processes")
ALL_LANES = ("test-architecture", *LANES, "test-nightly")


def pytest_arguments(lane: str) -> list[str]:
    """The arguments that a target of the Makefile gives to pytest."""
    command = ["make", "--dry-run", "--no-print-directory", lane]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (arguments,) = re.findall(r" -m (?:pytest|tests\.house\.lanes\.alone) (.*)", printed)
    return shlex.split(arguments)


def folders(lane: str) -> set[str]:
    return {one for one in pytest_arguments(lane) if one.startswith("tests/")}


def ignored(lane: str) -> set[str]:
    options = [one for one in pytest_arguments(lane) if one.startswith("--ignore=")]
    return {one.removeprefix("--ignore=") for one in options}


def markers(lane: str) -> list[str]:
    arguments = pytest_arguments(lane)
    return [arguments[n + 1] for n, one in enumerate(arguments) if one == "-m"]


@pytest.mark.parametrize("target", ["check", "test-all"])
@pytest.mark.parametrize("failing", ["", "lint", *ALL_LANES])
def test_the_quick_tests_come_first_then_the_others(
    tmp_path: Path, target: str, failing: str
) -> None:
    """One lane that fails keeps none of the others of `check` from being run."""
    recorder, calls = tmp_path / "make", tmp_path / "calls"
    recorder.write_text(
        f'#!/bin/sh\necho "$*" >> {calls}\n'
        f'for word; do [ "$word" = "{failing}" ] && exit 1; done; exit 0\n'
    )
    recorder.chmod(0o755)
    command = ["make", target, f"MAKE={recorder}"]
    code = subprocess.run(command, cwd=ROOT, capture_output=True).returncode
    lanes = [word for word in calls.read_text().split() if word in ALL_LANES]
    if target == "check":
        assert bool(code) == (failing in ("lint", *LANES))
        assert "lint" in calls.read_text().split()
        assert lanes == list(LANES)
    else:
        assert bool(code) == (failing in ALL_LANES)
        ended = ALL_LANES.index(failing) + 1 if failing in ALL_LANES else None
        assert lanes == list(ALL_LANES[:ended])


def test_lint_runs_the_rules_of_the_code_and_no_other_test() -> None:
    assert pytest_arguments("lint") == pytest_arguments("test-architecture")


def marked(marker: str) -> set[str]:
    """The files of tests in which a marker stands."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(rf"mark\.{marker}\b", path.read_text())
    }


def test_every_test_is_in_exactly_one_lane() -> None:
    """Folders divide the tests in three, the markers `slow` and `nightly` divide two of them."""
    processes, rules = folders("test-processes"), folders("test-architecture")
    assert processes
    assert rules
    assert all((ROOT / one).is_dir() for one in processes | rules)
    assert (markers("test-architecture"), ignored("test-architecture")) == ([], set())
    assert (markers("test-processes"), ignored("test-processes")) == (["not nightly"], set())
    assert markers("test") == ["not slow and not nightly"]
    assert markers("test-slow") == ["slow and not nightly"]
    assert markers("test-nightly") == ["nightly"]
    assert (folders("test"), ignored("test")) == (set(), processes | rules)
    of_others = marked("slow") | marked("nightly") | marked("browser")
    assert not {path for path in of_others if path.startswith(tuple(rules))}, "lint runs them all"
    slow = {path for path in marked("slow") if not path.startswith(tuple(processes))}
    assert len(slow) > 20
    # A marker in a fixture or a helper would be one in files that this lane does not read.
    assert (folders("test-slow"), ignored("test-slow")) == (slow, set())
    assert (folders("test-nightly"), ignored("test-nightly")) == (set(), set()), "it reads all"


def test_files_stay_together_and_in_order() -> None:
    """Fixtures of a module are made once, and Playwright's loop comes after all other tests."""
    for lane in ALL_LANES:
        assert {"loadfile", "--no-loadscope-reorder"} <= set(pytest_arguments(lane)), lane
