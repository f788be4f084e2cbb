"""Settings are changed by their one writer, which puts each change on record."""

from __future__ import annotations

import ast

from tools.size import ROOT, parsed

# Methods of models and their managers that write.
WRITES = {"save", "delete", "create", "update", "get_or_create", "update_or_create"}
WRITES |= {"asave", "adelete", "acreate", "aupdate", "bulk_create", "bulk_update"}
WRITER = "recorded_rows"
# Rooms and modules that import the models of settings.
SETTINGS = (
    "dashboard/administration",
    "dashboard/board/saved_views",
    "dashboard/identity/tokens.py",
)


def writes(tree: ast.Module) -> list[int]:
    """Lines on which something else than the writer writes; updates of a dict or set are none."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
        and ast.unparse(node.func.value) != WRITER
    ]


def test_settings_are_written_by_their_writer_alone() -> None:
    for room in SETTINGS:
        modules = sorted((ROOT / room).rglob("*.py")) or [ROOT / room]
        assert any(WRITER in path.read_text() for path in modules)
        assert {path.name: lines for path in modules if (lines := writes(parsed(path)))} == {}


def test_a_write_past_the_writer_is_noticed() -> None:
    text = "recorded_rows.save(row)\nrow.save()\nRule.objects.filter(id=1).update(days=1)"
    assert writes(ast.parse(text)) == [2, 3]
