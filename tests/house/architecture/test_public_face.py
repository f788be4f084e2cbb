"""Authors import `gatepost` only: README, how-tos and the agents that ship."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.size import ROOT, parsed

from .sources import files, name

PRODUCT = {"approvals", "checkpoints", "dashboard", "django", "gatepost", "workers"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/howto").glob("*.md"))]


def imported(module: Path) -> Iterator[str]:
    """The top-level packages that a module imports absolutely."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def test_pages_import_the_public_face_only() -> None:
    for page in PAGES:
        blocks = re.findall(r"^```python[^\n]*\n(.*?)^```$", page.read_text(), re.M | re.S)
        lines = re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(blocks), re.M)
        assert set(lines) & PRODUCT <= {"gatepost"}, page.name


def test_the_shipped_agents_import_the_public_face_only() -> None:
    modules = files(".py", ("agents",))
    assert len(modules) > 50
    refused = {
        name(path): names
        for path in modules
        if (names := set(imported(path)) & (PRODUCT - {"gatepost"}))
    }
    assert refused == {}
