"""Rooms: no circles, a sentence for each room, tables named in few files."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from approvals import columns as of_approvals
from checkpoints.postgres.sql_files import parse
from checkpoints.tables import columns as of_checkpoints
from checkpoints.tables.listed import Columns
from tools import size
from tools.size import ROOT, parsed

KNOWN = size.modules()
TABLES = json.loads(Path(__file__).with_name("tables.json").read_text())
# Relative, absolute: where lists of columns are imported from.
LISTS = {"columns", "tables.columns", "checkpoints.tables.columns", "approvals.columns"}
NOUNS = {"paging", "ranking", "rounding", "routing"}  # terms of the field
LISTED = {
    c.table
    for m in (of_approvals, of_checkpoints)
    for c in vars(m).values()
    if isinstance(c, Columns)
}
_TABLE = re.compile(r"\bgp_[a-z_]+\b")


@pytest.mark.parametrize("folders", [size.FLOORS, ("benchmarks",), ("tools",)])
def test_a_file_is_named_after_a_thing(folders: tuple[str, ...]) -> None:
    """Not after what it is doing: a tense says neither what it holds nor what it gives."""
    tenses = [p for p in size.modules(folders).values() if re.fullmatch(r"\w+ing", p.stem)]
    assert [p for p in tenses if p.stem not in NOUNS] == []


@pytest.fixture(scope="module")
def arrows() -> size.Arrows:
    return size.imports(KNOWN)


def test_no_files_import_each_other_in_a_circle(arrows: size.Arrows) -> None:
    own = {m: r for m, r in arrows.items() if KNOWN[m].name != "__init__.py"}
    assert size.circles(own) == []


def test_no_rooms_import_each_other_in_a_circle(arrows: size.Arrows) -> None:
    assert size.circles(size.rooms(KNOWN, arrows)) == []


def test_rooms_of_the_dashboard_import_downwards() -> None:
    """The layers stand in pyproject.toml: no two rooms import each other, each room is in one."""
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--contract", "rooms"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "agents")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_a_room_says_what_it_is_for() -> None:
    silent = [
        str(path)
        for path in KNOWN.values()
        if path.name == "__init__.py"
        and not re.match(r".+\.$", ast.get_docstring(parsed(ROOT / path)) or "", re.MULTILINE)
    ]
    assert silent == []


# Packages that give names of the modules in them: of a floor, and what an author imports.
GIVING = {
    *("approvals.gates", "approvals.queries", "approvals.records"),
    *("checkpoints.chain", "checkpoints.models", "checkpoints.payloads", "checkpoints.queries"),
    "checkpoints.store",
    "checkpoints.admin",  # Django imports it
    "gatepost.langgraph",
    *(
        f"clients.python.src.gatepost_client{part}"
        for part in ("", ".langgraph", ".openai_agents", ".pydantic_ai")
    ),
}


def only_gives(tree: ast.Module) -> bool:
    """Whether a module has nothing of its own, but imports for others."""
    docstring = ast.get_docstring(tree) is not None
    own = [
        node
        for node in tree.body[docstring:]
        if not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    ]
    return not own and len(tree.body) > docstring


def test_names_are_imported_from_their_home() -> None:
    """No module stands under a former name; few packages give the names of their modules."""
    assert {module for module, path in KNOWN.items() if only_gives(parsed(ROOT / path))} == GIVING


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Former name of `a`."""\nfrom a import b as b', True),
        ('from .a import b\n__all__ = ["b"]', True),
        ('"""A room."""', False),
        ("from a import b\nc = b()", False),
    ],
)
def test_a_module_without_anything_of_its_own_is_noticed(source: str, expected: bool) -> None:
    assert only_gives(ast.parse(source)) is expected


@cache
def tables_named() -> dict[str, list[str]]:
    """{module: tables that its strings, its `.sql` file or its lists of columns name}.

    Comments do not count.
    """
    statements = {
        path.with_suffix(".py"): parse(path.name, (ROOT / path).read_text()).values()
        for path in size.sql_files()
    }
    files: dict[str, list[str]] = {}
    for path in KNOWN.values():
        tree = parsed(ROOT / path)
        prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        names = set(_TABLE.findall(" ".join(statements.get(path, ()))))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in LISTS:
                names |= LISTED & {f"gp_{alias.name.lower()}" for alias in node.names}
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


def undescribed() -> list[str]:
    """Public functions and classes without a docstring."""
    missing = []
    for module, path in KNOWN.items():
        for node in parsed(ROOT / path).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            signature_only = any(ast.unparse(d) == "overload" for d in node.decorator_list)
            if signature_only or node.name.startswith("_"):
                continue
            if ast.get_docstring(node) is None:
                missing.append(f"{module}.{node.name}")
    return missing


def test_public_names_say_what_they_are() -> None:
    assert undescribed() == []


# Folders that Django asks for.
DJANGOS = {"management", "migrations", "templatetags", "static"}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
@pytest.mark.parametrize("floor", ["dashboard", "workers", "approvals", "checkpoints"])
def test_every_room_is_on_the_map(page: str, floor: str) -> None:
    rooms = {path.parent.name for path in (ROOT / floor).glob("*/__init__.py")} - DJANGOS
    (part,) = re.findall(
        rf"^(?:{floor} +|  {floor}\[)(.*(?:\n {{13}}.*)*)", (ROOT / page).read_text(), re.M
    )
    assert rooms <= set(re.findall(r"\w+", part)), rooms - set(re.findall(r"\w+", part))
