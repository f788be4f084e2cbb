"""`python -m tests.requirements --stage 1,2` performs the proofs of stages and says what holds."""

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

from tests.requirements import outcomes, table
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
    results: dict[int, tuple[bool, str]] = {}
    for line in answer.stdout.splitlines():
        try:
            result = json.loads(line)
            message = f"{result['value']} {result['unit']}, budget {result['budget']}"
            results[int(result["row"])] = (result["ok"] is True, message)
        except (ValueError, KeyError, TypeError):
            continue
    return results


def commanded(
    rows: Sequence[Row], make: Sequence[str], environment: Mapping[str, str]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """{command: {row: its JSON lines}}; each command is called once, in full."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for command in sorted({command for row in rows for command in row.commands}):
        print(f"make {command} ...", file=sys.stderr, flush=True)
        answer = subprocess.run(
            [*make, command],
            cwd=table.ROOT,
            env=dict(environment),
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = results.setdefault(command, {})
        for text in answer.stdout.splitlines():
            try:
                line = json.loads(text)
                lines.setdefault(str(line["row"]), []).append(line)
            except (ValueError, KeyError, TypeError):
                continue
    return results


def shown(row: Row, printed: Mapping[str, Mapping[str, list[dict[str, Any]]]]) -> tuple[bool, str]:
    """Whether each command of a row printed lines that name it, all of them ok."""
    messages = []
    for command in row.commands:
        lines = printed.get(command, {}).get(row.id, [])
        if not lines:
            return False, f"make {command} printed no line for it"
        wrong = [line for line in lines if line.get("ok") is not True]
        first = (wrong or [one for one in lines if one.get("budget") is not None] or lines)[0]
        figure = f"{first.get('value')} {first.get('unit')}, budget {first.get('budget')}"
        if wrong:
            return False, f"make {command}: {figure} is not ok"
        messages.append(f"make {command}: {figure}")
    return True, "; ".join(messages)


def judged(
    row: Row,
    recorder: Recorder,
    figures: dict[int, tuple[bool, str]],
    printed: Mapping[str, Mapping[str, list[dict[str, Any]]]],
) -> tuple[bool, str]:
    """(whether the row is proved, by what or why not)."""
    tests, why = recorder.tests[row.id], recorder.refutation(row.id)
    if tests and why:
        return False, why
    missing = [path for path in row.places if not any(inside(test, path) for test in tests)]
    if missing:
        return False, f"nothing in {', '.join(missing)} proves it"
    if row.benchmark is not None:
        ok, message = figures.get(row.benchmark, (False, "not measured"))
        return ok, f"benchmark row {row.benchmark}: {message}"
    if row.commands:
        return shown(row, printed)
    return not why, why or recorder.evidence(row.id)


def inside(test: str, path: str) -> bool:
    """Whether a node id lies in a test file or below a folder."""
    return test.startswith(path if path.endswith("/") else f"{path}::")


def stages(value: str) -> frozenset[int]:
    """The stages of `1`, `1,2` or `all`; an empty set stands for all."""
    return frozenset() if value == "all" else frozenset(map(int, value.split(",")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove, print a line per row and a sum per stage; 1 when something is not proved."""
    parser = argparse.ArgumentParser(prog="python -m tests.requirements")
    parser.add_argument("--stage", type=stages, required=True, help="such as 1, or 1,2, or all")
    parser.add_argument("--docs", type=Path, default=table.DOCS)
    parser.add_argument("--benchmark", nargs="+", default=[sys.executable, "-m", "benchmarks"])
    parser.add_argument("--make", nargs="+", default=["make"])
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument(
        "--outcomes", type=Path, help="what `make check OUTCOMES=...` wrote; no test is run again"
    )
    options = parser.parse_args(arguments)
    known = table.read(options.docs)
    rows = [row for row in known.values() if not options.stage or row.stage in options.stage]
    rows.sort(key=lambda row: row.stage)
    recorder = Recorder([row.id for row in rows], known=known)
    os.chdir(table.ROOT)
    environment = dict(
        os.environ
    )  # the test run puts its own servers there; a benchmark has its own
    only_list = ["--collect-only", "-q"] if options.outcomes else []
    selected = ["-m", "requirement", "-q", *only_list, *options.tests]
    code = pytest.main(selected, plugins=[recorder])
    if options.outcomes:
        recorder.outcomes = outcomes.read(options.outcomes)
    figures = measured(rows, options.benchmark, environment)
    printed = commanded(rows, options.make, environment)
    print()
    counted, proved = Counter(dict.fromkeys(options.stage, 0)), Counter[int]()
    for row in rows:
        ok, why = judged(row, recorder, figures, printed)
        needed = row.kind != "should"
        counted[row.stage] += needed
        proved[row.stage] += ok and needed
        print(f"{row.id}  {row.kind:7}  {'proved    ' if ok else 'NOT PROVED'}  {why}")
    finished = code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if not finished and code != pytest.ExitCode.NO_TESTS_COLLECTED:
        recorder.problems.append(f"pytest ended with {code}")
    for problem in recorder.problems:
        print(f"problem: {problem}")
    for stage, of in sorted(counted.items()):
        print(f"stage {stage}: {proved[stage]} of {of} proved")
    whole = all(counted.values()) and proved == counted
    return 0 if counted and whole and not recorder.problems else 1


if __name__ == "__main__":
    sys.exit(main())
