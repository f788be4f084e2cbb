"""The mutants stay in step with the code: each patch applies, each promise in reach has one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .__main__ import PROMISES, ROOT, Mutant, mutants


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
