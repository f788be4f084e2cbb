"""Long SQL lies in `.sql` files, and each statement there has a description and a user."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from checkpoints.postgres.sql_files import parse, pieces_of
from tools import size
from tools.size import ROOT, parsed

from .sources import name, product

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


def long_sql(path: Path) -> list[str]:
    """The beginnings of SQL strings of more than LINES_MAX lines."""
    source = path.read_text().splitlines()
    long = []
    for node in texts(parsed(path)):
        if (node.end_lineno or node.lineno) - node.lineno < LINES_MAX:
            continue
        lines = source[node.lineno - 1 : node.end_lineno]
        sql = [line.strip() for line in lines if line.strip(' "f(),')]
        plain = "\n".join(line.lstrip(' f"') for line in lines)
        if len(sql) > LINES_MAX and len(_SQL.findall(plain)) > 1:
            long.append(f"{name(path)}:{node.lineno}: {len(sql)} lines")
    return long


def test_long_sql_lies_in_sql_files() -> None:
    assert [line for path in product() for line in long_sql(path)] == []


def test_only_the_ground_floor_locks_threads() -> None:
    """The floors above call `lock_thread` of the store, or put its text into theirs."""
    written = [
        (name(path), ast.unparse(node))
        for path in product()
        if "UPDATE" in path.read_text()
        for node in texts(parsed(path))
    ]
    statements = [(p, s) for p in SQL_FILES for s in parse(p, (ROOT / p).read_text()).values()]
    locks = [
        path
        for path, text in (*written, *statements)
        if not path.startswith("checkpoints/") and _LOCKS_THREAD.search(text)
    ]
    assert locks == []


def test_each_statement_is_sent_by_the_module_beside_it() -> None:
    faults = []
    for path in SQL_FILES:
        statements = parse(path, (ROOT / path).read_text())
        tree = parsed(ROOT / (path.removesuffix("sql") + "py"))
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        sent = {node.attr for node in attributes}
        of_file = {
            node.attr
            for node in attributes
            if isinstance(node.value, ast.Name) and node.value.id == "SQL"
        }
        pieces = {piece for text in statements.values() for piece in pieces_of(text)}
        faults += [f"{path}: there is no statement {one}" for one in of_file - set(statements)]
        faults += [f"{path}: nobody sends {one}" for one in set(statements) - sent - pieces]
    assert faults == []
