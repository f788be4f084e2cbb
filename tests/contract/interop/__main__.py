"""`python -m tests.contract.interop` performs the scenario of each kind of agent."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.contract.interop.scenarios import REQUIRED, ROOT, marked
from tests.house.requirements.plugin import Recorder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line per kind of agent, and how many hold; 1 where one does not."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.interop")
    parser.add_argument("--tests", nargs="+", type=Path, default=[ROOT / "tests"])
    parser.add_argument("--required", nargs="*", default=sorted(REQUIRED))
    options = parser.parse_args(arguments)
    files = marked(options.tests)
    kinds = sorted({*options.required}.union(*files.values()), key=str.casefold)
    recorder = Recorder(kinds, known=kinds, marker="interop")
    os.chdir(ROOT)
    code = pytest.main(["-m", "interop", "-q", *map(str, files)], plugins=[recorder])
    print()
    proved = 0
    for kind in kinds:
        why = recorder.refutation(kind)
        proved += not why
        print(f"{kind:20}  {f'NOT PROVED  {why}' if why else recorder.evidence(kind)}")
    if code != pytest.ExitCode.OK:
        print(f"problem: pytest ended with {code}")
    for problem in recorder.problems:
        print(f"problem: {problem}")
    print(f"interop: {proved} of {len(kinds)}")
    return 0 if proved == len(kinds) and code == pytest.ExitCode.OK else 1


if __name__ == "__main__":
    sys.exit(main())
