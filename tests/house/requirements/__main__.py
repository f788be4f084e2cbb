"""`python -m tests.house.requirements --stage 1,2` performs the proofs of stages.

`--rows A14,A29` performs those of single rows.
"""

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

from tests.house.requirements import outcomes, table
from tests.house.requirements.plugin import Recorder
from tests.house.requirements.table import Row
from tests.house.requirements.tree import NoTree, working_tree

# Options for make itself and variables of our Makefile, which make hands on to what it calls: they
# would make a proof smaller than it must be.
OF_MAKE = (
    *("MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEOVERRIDES", "MAKEFILES", "MAKELEVEL"),
    *("ARGS", "PICK", "ROWS", "STAGE", "OUTCOMES", "HOST", "PORT", "DATA", "WORKERS", "MODEL"),
)


class Printed:
    """What one call of a command printed: its JSON lines by row, and its exit code."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.lines: dict[str, list[dict[str, Any]]] = {}
        for one in text.splitlines():
            try:
                line = json.loads(one)
                self.lines.setdefault(str(line["row"]), []).append(line)
            except (ValueError, KeyError, TypeError):
                continue

    @property
    def why_failed(self) -> str:
        """Why nothing that it printed counts; empty where a line of it says what is not ok."""
        fine = all(line.get("ok") is True for lines in self.lines.values() for line in lines)
        return f"ended with {self.code}" if self.code and fine else ""


def call(command: Sequence[str], environment: Mapping[str, str]) -> Printed:
    print(f"{' '.join(command)} ...", file=sys.stderr, flush=True)
    answer = subprocess.run(
        command, cwd=table.ROOT, env=dict(environment), stdout=subprocess.PIPE, text=True
    )
    return Printed(answer.returncode, answer.stdout)


def measured(
    rows: Sequence[Row], command: Sequence[str], environment: Mapping[str, str]
) -> Printed:
    """The lines of those rows of the budget that are a proof, from one call of the benchmark."""
    numbers = sorted({row.benchmark for row in rows if row.benchmark is not None})
    if not numbers:
        return Printed(0, "")
    return call([*command, "--rows", ",".join(map(str, numbers))], environment)


def commanded(
    rows: Sequence[Row], make: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Printed]:
    """{command: what it printed}; each command is called once, in full."""
    commands = sorted({command for row in rows for command in row.commands})
    return {command: call([*make, command, "ARGS="], environment) for command in commands}


def benchmarked(row: Row, figures: Printed) -> tuple[bool, str]:
    """Whether the row of the budget proves a promise: by its verdict on it, if it has one."""
    lines = figures.lines.get(str(row.benchmark), [])
    if len(lines) != 1 or "error" in lines[0]:
        return False, f"benchmark row {row.benchmark}: not measured"
    own = lines[0].get("verdicts", {}).get(row.id)
    line = own or lines[0]
    figure = f"{line.get('value')} {line.get('unit')}, budget {line.get('budget')}"
    if own and "what" in own:
        figure = f"{own['what']}: {figure}"
    if share := lines[0].get("scale"):
        return False, f"benchmark row {row.benchmark}: {share} of its size proves nothing"
    return line.get("ok") is True, f"benchmark row {row.benchmark}: {figure}"


def shown(row: Row, printed: Mapping[str, Printed]) -> tuple[bool, str]:
    """Whether each command of a row printed lines that name it, all of them ok."""
    messages = []
    for command in row.commands:
        lines = printed[command].lines.get(row.id, [])
        if not lines:
            return False, f"make {command} printed no line for it"
        if why := printed[command].why_failed:
            return False, f"make {command} {why}"
        wrong = [line for line in lines if line.get("ok") is not True]
        first = (wrong or [one for one in lines if one.get("budget") is not None] or lines)[0]
        figure = f"{first.get('value')} {first.get('unit')}, budget {first.get('budget')}"
        if wrong:
            return False, f"make {command}: {figure} is not ok"
        messages.append(f"make {command}: {figure}")
    return True, "; ".join(messages)


def judged(
    row: Row, recorder: Recorder, figures: Printed, printed: Mapping[str, Printed]
) -> tuple[bool, str]:
    """(whether the row is proved, by what or why not)."""
    if not row.is_built:
        return False, "not built yet"
    tests, why = recorder.tests[row.id], recorder.refutation(row.id)
    if tests and why:
        return False, why
    missing = [path for path in row.places if not any(inside(test, path) for test in tests)]
    if missing:
        return False, f"nothing in {', '.join(missing)} proves it"
    if row.benchmark is not None:
        return benchmarked(row, figures)
    if row.commands:
        return shown(row, printed)
    return not why, why or recorder.evidence(row.id)


def inside(test: str, path: str) -> bool:
    """Whether a node id lies in a test file or below a folder."""
    return test.startswith(path if path.endswith("/") else f"{path}::")


def stages(value: str) -> frozenset[int]:
    """The stages of `1`, `1,2` or `all`, which leaves out the one that is not asked for."""
    wanted = frozenset(table.STAGES) - {table.BEYOND}
    if value == "all":
        return wanted
    try:
        numbers = frozenset(map(int, value.split(",")))
    except ValueError:
        numbers = frozenset()
    if not numbers or not numbers <= wanted:
        raise argparse.ArgumentTypeError(
            f"{value}: stages are 1 to 12 and 14, such as 1 or 1,2, or all; 13 is only listed"
        )
    return numbers


def chosen(known: Mapping[str, Row], options: argparse.Namespace) -> list[Row]:
    """The rows asked for, by stage; ValueError for one that does not exist."""
    if options.rows:
        wanted = [ident.strip() for ident in options.rows.split(",") if ident.strip()]
        if unknown := [ident for ident in wanted if ident not in known]:
            raise ValueError(f"there is no row {', '.join(unknown)}")
        rows = [known[ident] for ident in dict.fromkeys(wanted)]
    else:
        rows = [row for row in known.values() if row.stage in options.stage]
    return sorted(rows, key=lambda row: row.stage)


def verdict(row: Row, ok: bool) -> str:
    if row.is_needed:
        return "proved" if ok else "NOT PROVED"
    return "not built"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove, print a line per row and a sum per stage; 1 when something is not proved."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.requirements")
    parser.add_argument("--stage", type=stages, default=None, help="such as 1, or 1,2, or all")
    parser.add_argument("--rows", default="", help="single rows instead, such as A14,A29")
    parser.add_argument("--docs", type=Path, default=table.DOCS)
    parser.add_argument("--benchmark", nargs="+", default=[sys.executable, "-m", "benchmarks"])
    parser.add_argument("--make", nargs="+", default=["make"])
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument(
        "--outcomes", type=Path, help="what `make check OUTCOMES=...` wrote; no test is run again"
    )
    options = parser.parse_args(arguments)
    if not options.rows and options.stage is None:
        parser.error("--stage or --rows says what to prove")
    known = table.read(options.docs)
    try:
        rows = chosen(known, options)
        ended = outcomes.read(options.outcomes, working_tree()) if options.outcomes else None
    except (ValueError, outcomes.OtherTree, NoTree) as error:
        parser.error(str(error))
    recorder = Recorder([row.id for row in rows if row.is_built], known=known)
    os.chdir(table.ROOT)
    for name in OF_MAKE:  # tests call make as well
        os.environ.pop(name, None)
    # The test run puts the addresses of its servers there; a benchmark has its own servers.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}
    only_list = ["--collect-only", "-q"] if options.outcomes else []
    selected = ["-m", "requirement", "-q", *only_list, *options.tests]
    code = pytest.main(selected, plugins=[recorder])
    if ended is not None:
        recorder.outcomes = ended
    figures = measured(rows, options.benchmark, environment)
    printed = commanded(rows, options.make, environment)
    print()
    counted, proved = Counter[int](), Counter[int]()
    for row in rows:
        ok, why = judged(row, recorder, figures, printed)
        counted[row.stage] += row.is_needed
        proved[row.stage] += ok and row.is_needed
        print(f"{row.id}  {row.kind:7}  {verdict(row, ok):10}  {why}")
    finished = code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if not finished and code != pytest.ExitCode.NO_TESTS_COLLECTED:
        recorder.problems.append(f"pytest ended with {code}")
    for problem in recorder.problems:
        print(f"problem: {problem}")
    for stage, of in sorted(counted.items()):
        print(f"stage {stage}: {proved[stage]} of {of} proved")
    every = all(counted.values()) and proved == counted
    return 0 if counted and every and not recorder.problems else 1


if __name__ == "__main__":
    sys.exit(main())
