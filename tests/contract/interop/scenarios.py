"""Which kinds of agents have a scenario, as the marks `interop` in the source of tests say."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
# A kind whose test was removed is missed; a new one needs its mark only.
REQUIRED: Final = frozenset(
    {"LangGraph", "MCP client", "OpenAI Agents", "Pydantic AI", "Python", "curl", "node"}
)


def marked(places: Iterable[Path]) -> dict[Path, set[str]]:
    """{test file: the kinds of agents that its marks name}, of files with such a mark."""
    files = [f for p in places for f in ([p] if p.is_file() else sorted(p.rglob("test_*.py")))]
    named = {file: _named(file) for file in files}
    return {file: kinds for file, kinds in named.items() if kinds}


def _named(file: Path) -> set[str]:
    text = file.read_text()
    if "mark.interop" not in text:
        return set()
    return {
        str(argument.value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.interop")
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
