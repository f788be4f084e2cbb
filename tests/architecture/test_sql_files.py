"""Long SQL lies in `.sql` files, and each statement there has a description and a user."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints.postgres.sql_files import parse, pieces_of
from tools import size

ROOT = Path(__file__).parents[2]
MODULES = {str(p): ast.parse((ROOT / p).read_text()) for p in size.modules().values()}
SQL_FILES = [str(p) for p in size.sql_files()]
LINES_MAX = 10
_LOCKS_THREAD = re.compile(
    r"UPDATE OF ([a-z]+, )*th\b|FROM gp_thread WHERE .*\bFOR (NO KEY )?UPDATE", re.S
)
_SQL = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|FROM|WHERE|(LEFT |CROSS )?JOIN)\b", re.M)


def texts(tree: ast.AST) -> Iterator[ast.expr]:
    """Whole strings: not the parts of an f-string or of a sum, not docstrings."""
    prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        string = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            string = any(isinstance(n, ast.JoinedStr | ast.Constant) for n in ast.walk(node))
        if isinstance(node, ast.expr) and (string or isinstance(node, ast.JoinedStr)):
            if id(node) not in prose:
                yield node
        else:
            waiting += ast.iter_child_nodes(node)


def long_sql(path: str) -> list[str]:
    """The beginnings of SQL strings of more than LINES_MAX lines."""
    source = (ROOT / path).read_text().splitlines()
    long = []
    for node in texts(MODULES[path]):
        lines = source[node.lineno - 1 : node.end_lineno]
        sql = [line.strip() for line in lines if line.strip(' "f(),')]
        plain = "\n".join(line.lstrip(' f"') for line in lines)
        if len(sql) > LINES_MAX and len(_SQL.findall(plain)) > 1:
            long.append(f"{path}:{node.lineno}: {len(sql)} lines")
    return long


def test_long_sql_lies_in_sql_files() -> None:
    assert [line for path in MODULES for line in long_sql(path)] == []


def test_only_the_ground_floor_locks_threads() -> None:
    """The floors above call `lock_thread` of the store, or put its text into theirs."""
    written = [(path, ast.unparse(node)) for path in MODULES for node in texts(MODULES[path])]
    statements = [(p, s) for p in SQL_FILES for s in parse(p, (ROOT / p).read_text()).values()]
    locks = [
        path
        for path, text in (*written, *statements)
        if not path.startswith("checkpoints/") and _LOCKS_THREAD.search(text)
    ]
    assert locks == []


@pytest.mark.parametrize("path", SQL_FILES)
def test_each_statement_is_sent_by_the_module_beside_it(path: str) -> None:
    statements = parse(path, (ROOT / path).read_text())
    tree = MODULES[path.removesuffix("sql") + "py"]
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    sent = {node.attr for node in attributes}
    of_file = {
        node.attr
        for node in attributes
        if isinstance(node.value, ast.Name) and node.value.id == "SQL"
    }
    pieces = {name for text in statements.values() for name in pieces_of(text)}
    assert of_file - set(statements) == set(), "there is no such statement"
    assert set(statements) - sent - pieces == set(), "nobody sends it"
