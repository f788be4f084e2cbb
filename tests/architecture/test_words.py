"""The words of the glossary are the words of the code, and the other way round."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from checkpoints.states import EventKind, Status, WorkspaceEventKind

ROOT = Path(__file__).parents[2]
FLOORS = ("checkpoints", "approvals", "workers", "dashboard", "agents", "contrib", "gatepost")
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
# Words of other systems for what has a word of its own here; django's sessions keep their name.
REFUSED = re.compile(r"(^|_)(snapshot|session|run|job)(_?id)?s?$", re.IGNORECASE)
# Third-party names that we meet, and the verb "to run" in front of something.
KNOWN = {
    "session",  # Django's login session, in dashboard only
    "sessions",
    "run",  # the sockets' folder and asyncio.run
    "run_on",
}


def modules() -> list[Path]:
    return [
        path
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*.py"))
        if "migrations" not in path.parts
    ]


def test_the_glossary_lists_exactly_the_statuses() -> None:
    line = GLOSSARY.partition("## Statuses")[2].partition("## Events")[0]
    assert set(re.findall(r"`([a-z_]+)`", line)) == {str(s) for s in Status}


def test_the_glossary_lists_exactly_the_event_kinds() -> None:
    table = GLOSSARY.partition("| noun | kinds |")[2]
    kinds = {*EventKind, *WorkspaceEventKind}
    assert set(re.findall(r"`([a-z]+\.[a-z_]+)`", table)) == {str(k) for k in kinds}


def test_threads_and_workspaces_share_no_event_kind() -> None:
    assert {str(k) for k in EventKind}.isdisjoint({str(k) for k in WorkspaceEventKind})


def test_the_lifecycle_explains_every_status() -> None:
    text = (ROOT / "docs/lifecycle.md").read_text()
    for status in Status:
        assert f"| `{status}` |" in text


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_or_class_takes_a_refused_word_as_its_noun(path: Path) -> None:
    names = [
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]
    assert [n for n in names if REFUSED.search(n) and n.lower() not in KNOWN] == []
