"""`python -m tests.house.rubric` performs the 30 checks of the pages and counts those that hold."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.house.requirements import outcomes
from tests.house.requirements.plugin import Recorder
from tests.house.requirements.table import ROOT
from tests.house.requirements.tree import NoTree, working_tree

from .checks import CHECKS

MARK = r"mark\.rubric"


def marked() -> list[str]:
    """The files with a test that performs a check."""
    result = subprocess.run(
        ["grep", "-rlE", "--include=test_*.py", MARK, str(ROOT / "tests")],
        stdout=subprocess.PIPE,
        text=True,
    )
    return sorted(result.stdout.split())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per check, and how many hold; 1 where one does not."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.rubric")
    parser.add_argument("--check", type=int, nargs="*", default=list(CHECKS), metavar="NUMBER")
    parser.add_argument(
        "--outcomes", type=Path, help="what `make check OUTCOMES=...` wrote; no test is run again"
    )
    options = parser.parse_args(arguments)
    try:
        ended = outcomes.read(options.outcomes, working_tree()) if options.outcomes else None
    except (outcomes.OtherTree, NoTree) as error:
        parser.error(str(error))
    numbers = [str(number) for number in options.check]
    recorder = Recorder(numbers, known=[str(n) for n in CHECKS], marker="rubric")
    os.chdir(ROOT)
    only_list = ["--collect-only"] if options.outcomes else []
    selected = ["-m", "rubric", "-q", "-n", "0", *only_list, *marked()]
    code = pytest.main(selected, plugins=[recorder])
    if ended is not None:
        recorder.outcomes = ended
    print()
    proved = 0
    for number in numbers:
        why = recorder.refutation(number)
        proved += not why
        verdict = f"NOT PROVED  {why}" if why else recorder.evidence(number)
        print(f"{number:>2}  {CHECKS[int(number)]}\n    {verdict}")
    for problem in recorder.problems:
        print(f"problem: {problem}")
    print(f"rubric: {proved} of {len(numbers)}")
    return 0 if proved == len(numbers) and code == pytest.ExitCode.OK else 1


if __name__ == "__main__":
    sys.exit(main())
