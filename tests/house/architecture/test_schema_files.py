"""The schema reads without its history: every table, function, view and domain says what it is."""

from __future__ import annotations

import re
from pathlib import Path

from tools.size import ROOT

from .sources import name, tracked

FILES = [path for path in tracked() if path.parent.parts[-2:] == ("migrations", "schema")]
SQL = [path for path in FILES if path.suffix == ".sql"]
PYTHON = [path for path in FILES if path.suffix == ".py" and path.name != "__init__.py"]


def apps_of(paths: list[Path]) -> set[str]:
    return {path.relative_to(ROOT).parts[0] for path in paths}


def test_each_app_has_a_schema() -> None:
    assert apps_of(PYTHON) == {"checkpoints", "approvals", "dashboard"}
    assert apps_of(SQL) == {"checkpoints", "approvals"}


def test_each_function_and_view_is_described_by_name() -> None:
    for path in SQL:
        text = path.read_text()
        made = re.findall(r"^CREATE (?:FUNCTION|VIEW) (\w+)", text, re.MULTILINE)
        described = re.findall(r"^-- (\w+): \w", text, re.MULTILINE)
        assert set(made) <= set(described), name(path)
        assert text.startswith("-- "), name(path)
        assert max(map(len, text.splitlines())) <= 100, name(path)


def test_each_table_is_described() -> None:
    for path in PYTHON:
        lines = path.read_text().splitlines()
        tables = [n for n, line in enumerate(lines) if "migrations.CreateModel(" in line]
        assert tables, name(path)
        bare = [lines[n + 1].strip() for n in tables if not lines[n - 1].startswith("    # ")]
        assert bare == [], name(path)
