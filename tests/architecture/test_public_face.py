"""Authors import `gatepost` only: README, how-tos and the agents that ship."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = {"approvals", "checkpoints", "contrib", "dashboard", "django", "gatepost", "workers"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
# A class of its own beside the engine, for code that is no graph; the adapter for LangGraph.
ALSO = {"write-an-agent.md": {"contrib"}, "langgraph-on-workers.md": {"contrib"}}


def imported(text: str) -> Iterator[str]:
    """The top-level packages that a module imports absolutely."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_the_public_face_only(page: Path) -> None:
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```$", page.read_text(), re.M | re.S)
    lines = re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(blocks), re.M)
    assert set(lines) & PRODUCT <= {"gatepost", *ALSO.get(page.name, ())}


def test_the_shipped_agents_import_the_public_face_only() -> None:
    files = sorted((ROOT / "agents").rglob("*.py"))
    assert len(files) > 50
    refused = {
        str(file.relative_to(ROOT)): names
        for file in files
        if (names := set(imported(file.read_text())) & (PRODUCT - {"gatepost"}))
    }
    assert refused == {}
