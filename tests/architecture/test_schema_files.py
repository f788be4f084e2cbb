"""The schema reads without its history: every table, function, view and domain says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .test_house import ROOT, tracked

FILES = [path for path in tracked() if path.parent.parts[-2:] == ("migrations", "schema")]
SQL = [path for path in FILES if path.suffix == ".sql"]
PYTHON = [path for path in FILES if path.suffix == ".py" and path.name != "__init__.py"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_both_apps_have_a_schema() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SQL} == {"checkpoints", "approvals"}
    assert {path.relative_to(ROOT).parts[0] for path in PYTHON} == {"checkpoints", "approvals"}


@pytest.mark.parametrize("path", SQL, ids=name)
def test_each_function_and_view_is_described_by_name(path: Path) -> None:
    text = path.read_text()
    for made in re.findall(r"^CREATE (?:FUNCTION|VIEW) (\w+)", text, re.MULTILINE):
        assert re.search(rf"^-- {made}: \w", text, re.MULTILINE), f"{made} is not described"
    assert text.startswith("-- ")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_each_table_is_described(path: Path) -> None:
    lines = path.read_text().splitlines()
    tables = [n for n, line in enumerate(lines) if "migrations.CreateModel(" in line]
    assert tables
    bare = [lines[n + 1].strip() for n in tables if not lines[n - 1].startswith("    # ")]
    assert bare == []
