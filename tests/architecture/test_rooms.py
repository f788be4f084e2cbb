"""Rooms: few files at a level, no circles, a sentence at each door, tables in few hands."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tools import size

ROOT = Path(__file__).parents[2]
KNOWN = size.modules()
TABLES = json.loads(Path(__file__).with_name("tables.json").read_text())
_TABLE = re.compile(r"\bgp_[a-z_]+\b")


def test_no_level_holds_more_than_fifteen_files() -> None:
    assert {k: n for k, n in size.files_per_level(KNOWN).items() if n > size.FILES_MAX} == {}


def test_no_files_import_each_other_in_a_circle() -> None:
    own = {m: r for m, r in size.imports(KNOWN).items() if KNOWN[m].name != "__init__.py"}
    assert size.circles(own) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert size.circles(size.rooms(KNOWN, size.imports(KNOWN))) == []


@pytest.mark.parametrize("path", [p for p in KNOWN.values() if p.name == "__init__.py"], ids=str)
def test_a_room_says_what_it_is_for(path: Path) -> None:
    doc = ast.get_docstring(ast.parse((ROOT / path).read_text()))
    assert doc
    assert doc.splitlines()[0].endswith(".")


def tables_named() -> dict[str, list[str]]:
    """{file: tables that its strings name}; docstrings and comments do not count."""
    files: dict[str, list[str]] = {}
    for path in KNOWN.values():
        tree = ast.parse((ROOT / path).read_text())
        prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        names: set[str] = set()
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in prose:
                continue
            if isinstance(node.value, str):
                names |= set(_TABLE.findall(node.value))
        if names:
            files[str(path)] = sorted(names)
    return files


def test_no_further_file_names_a_table() -> None:
    """tables.json is the present truth; its lists may only become shorter."""
    strange = {
        path: new
        for path, names in tables_named().items()
        if (new := sorted(set(names) - set(TABLES.get(path, ()))))
    }
    assert strange == {}


def test_the_list_of_tables_is_no_longer_than_the_truth() -> None:
    now = tables_named()
    assert {
        p: gone for p, names in TABLES.items() if (gone := sorted(set(names) - set(now.get(p, ()))))
    } == {}


# Public functions and classes without a docstring; the number may only fall.
UNDESCRIBED_MAX = 16


def undescribed() -> list[str]:
    missing = []
    for module, path in KNOWN.items():
        for node in ast.parse((ROOT / path).read_text()).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if not node.name.startswith("_") and ast.get_docstring(node) is None:
                missing.append(f"{module}.{node.name}")
    return missing


def test_public_names_say_what_they_are() -> None:
    assert len(undescribed()) <= UNDESCRIBED_MAX, undescribed()
