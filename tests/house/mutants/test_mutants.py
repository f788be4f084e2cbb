"""The mutants stay in step with the code: each patch applies, promises and rows have theirs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.house.requirements import table

from .__main__ import PROMISES, ROOT, Mutant, mutants

STAGES = range(6, 10)  # each of their rows was seen to break by itself


@pytest.mark.slow
@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: m.path.stem)
def test_a_mutant_applies_and_names_tests_that_exist(mutant: Mutant) -> None:
    checked = subprocess.run(
        ["git", "apply", "--check", str(mutant.path)], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    for name in mutant.caught_by:
        assert Path(ROOT, name.partition("::")[0]).exists(), name


def test_every_promise_has_a_mutant() -> None:
    assert {m.promise for m in mutants()} == set(PROMISES)


def test_every_row_of_these_stages_and_of_what_was_built_beyond_has_a_mutant() -> None:
    named = {row for mutant in mutants() for row in mutant.rows}
    rows = table.read()
    assert named <= rows.keys()
    needed = {row.id for row in rows.values() if row.stage in STAGES or row.id[0] == "G"}
    assert needed <= named, sorted(needed - named)


def test_the_tests_of_a_mutant_carry_its_rows() -> None:
    for mutant in mutants():
        carried: set[str] = set()
        for name in mutant.caught_by:
            source = Path(ROOT, name.partition("::")[0])
            if source.is_file():
                carried |= set(re.findall(r'requirement\("(\w+)"\)', source.read_text()))
        assert set(mutant.rows) <= carried, mutant.path.name
