"""`python -m tests.requirements --stage 1` performs the proofs of a stage and says what holds."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import table
from tests.requirements.plugin import Recorder
from tests.requirements.table import Row


def measured(
    rows: Sequence[Row], command: Sequence[str], environment: Mapping[str, str]
) -> dict[int, tuple[bool, str]]:
    """{row of the budget: (within it, what was measured)} from one call of the benchmark."""
    numbers = sorted({row.benchmark for row in rows if row.benchmark is not None})
    if not numbers:
        return {}
    answer = subprocess.run(
        [*command, "--rows", ",".join(map(str, numbers))],
        cwd=table.ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[int, tuple[bool, str]] = {}
    for line in answer.stdout.splitlines():
        try:
            result = json.loads(line)
            said = f"{result['value']} {result['unit']}, budget {result['budget']}"
            found[int(result["row"])] = (result["ok"] is True, said)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def commanded(
    rows: Sequence[Row], make: Sequence[str], environment: Mapping[str, str]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """{command: {row: its JSON lines}}; each command is called once, in full."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for command in sorted({command for row in rows for command in row.commands}):
        print(f"make {command} ...", file=sys.stderr, flush=True)
        answer = subprocess.run(
            [*make, command],
            cwd=table.ROOT,
            env=dict(environment),
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = found.setdefault(command, {})
        for text in answer.stdout.splitlines():
            try:
                line = json.loads(text)
                lines.setdefault(str(line["row"]), []).append(line)
            except (ValueError, KeyError, TypeError):
                continue
    return found


def shown(row: Row, printed: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> tuple[bool, str]:
    """Whether each command of a row printed lines that name it, all of them ok."""
    said = []
    for command in row.commands:
        lines = printed.get(command, {}).get(row.id, [])
        if not lines:
            return False, f"make {command} printed no line for it"
        wrong = [line for line in lines if line.get("ok") is not True]
        first = (wrong or [one for one in lines if one.get("budget") is not None] or lines)[0]
        figure = f"{first.get('value')} {first.get('unit')}, budget {first.get('budget')}"
        if wrong:
            return False, f"make {command}: {figure} is not ok"
        said.append(f"make {command}: {figure}")
    return True, "; ".join(said)


def judged(
    row: Row,
    recorder: Recorder,
    figures: dict[int, tuple[bool, str]],
    printed: Mapping[str, Mapping[str, list[dict[str, Any]]]],
) -> tuple[bool, str]:
    """(whether the row is proved, by what or why not)."""
    tests = recorder.tests[row.id]
    ends = {test: recorder.outcomes.get(test, "not ended") for test in tests}
    wrong = Counter(end for end in ends.values() if end != "passed")
    if wrong:
        first = next(test for test, end in ends.items() if end != "passed")
        counted = ", ".join(f"{count} {end}" for end, count in wrong.items())
        return False, f"{counted} of {len(tests)}, first {first}"
    missing = [place for place in row.places if not any(inside(test, place) for test in tests)]
    if missing:
        return False, f"nothing in {', '.join(missing)} proves it"
    if row.benchmark is not None:
        ok, said = figures.get(row.benchmark, (False, "not measured"))
        return ok, f"benchmark row {row.benchmark}: {said}"
    if row.commands:
        return shown(row, printed)
    if not tests:
        return False, "no test carries it"
    files = sorted({test.partition("::")[0] for test in tests})
    return True, f"{len(tests)} passed in {', '.join(files)}"


def inside(test: str, place: str) -> bool:
    """Whether a node id lies in a test file or below a folder."""
    return test.startswith(place if place.endswith("/") else f"{place}::")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove, print a line per row, end with the sum; 1 when something is not proved."""
    parser = argparse.ArgumentParser(prog="python -m tests.requirements")
    parser.add_argument("--stage", type=int, required=True)
    parser.add_argument("--docs", type=Path, default=table.DOCS)
    parser.add_argument("--benchmark", nargs="+", default=[sys.executable, "-m", "benchmarks"])
    parser.add_argument("--make", nargs="+", default=["make"])
    parser.add_argument("--tests", nargs="+", default=["tests"])
    options = parser.parse_args(arguments)
    known = table.read(options.docs)
    rows = [row for row in known.values() if row.stage == options.stage]
    recorder = Recorder([row.id for row in rows], known=known)
    os.chdir(table.ROOT)
    environment = dict(
        os.environ
    )  # the test run puts its own servers there; a benchmark has its own
    code = pytest.main(["-m", "requirement", "-q", *options.tests], plugins=[recorder])
    figures = measured(rows, options.benchmark, environment)
    printed = commanded(rows, options.make, environment)
    print()
    counted = proved = 0
    for row in rows:
        ok, why = judged(row, recorder, figures, printed)
        needed = row.kind != "should"
        counted += needed
        proved += ok and needed
        print(f"{row.id}  {row.kind:7}  {'proved    ' if ok else 'NOT PROVED'}  {why}")
    finished = code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if not finished and code != pytest.ExitCode.NO_TESTS_COLLECTED:
        recorder.problems.append(f"pytest ended with {code}")
    for problem in recorder.problems:
        print(f"problem: {problem}")
    print(f"stage {options.stage}: {proved} of {counted} proved")
    return 0 if counted and proved == counted and not recorder.problems else 1


if __name__ == "__main__":
    sys.exit(main())
