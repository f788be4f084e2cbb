"""No test takes the time when it is collected: it may be run many minutes later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tools.size import parsed

from .sources import files, name

CLOCKS = frozenset({"now", "utcnow", "today", "time_ns", "monotonic", "perf_counter", "localtime"})
# Programs that a test starts: their time of import is that of their start.
PROGRAMS = {"scripts"}


def at_import(tree: ast.Module) -> Iterator[str]:
    """Calls of a clock that happen when a module is imported, decorators and defaults included."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [
                *node.decorator_list,
                *node.args.defaults,
                *filter(None, node.args.kw_defaults),
            ]
            continue
        if isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in CLOCKS or called == "time.time":
                yield f"line {node.lineno}: {ast.unparse(node)}"
        waiting += ast.iter_child_nodes(node)


def test_no_value_of_now_is_made_at_collection() -> None:
    taken = {
        name(path): calls
        for path in files(".py", ("tests",))
        if not PROGRAMS & set(path.parts) and (calls := list(at_import(parsed(path))))
    }
    assert taken == {}


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("NOW = datetime.now(UTC)", True),
        ("@parametrize('at', [datetime.now(UTC) - timedelta(minutes=1)])\ndef test(at): ...", True),
        ("def wait(until=time.monotonic() + 5): ...", True),
        ("class Test:\n    began = time.time()", True),
        ("def test():\n    began = time.time()", False),
        ("ages = [lambda: datetime.now(UTC)]", False),
        ("noon = time(12, 0)", False),
    ],
)
def test_the_sweep_tells_import_from_call(source: str, taken: bool) -> None:
    assert bool(list(at_import(ast.parse(source)))) is taken
