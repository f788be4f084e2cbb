"""The words of the glossary are the words of the code, and the other way round."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from checkpoints.states import EventKind, Status, WorkspaceEventKind

ROOT = Path(__file__).parents[2]
FLOORS = (
    "checkpoints",
    "approvals",
    "workers",
    "dashboard",
    "agents",
    "contrib",
    "gatepost",
    "clients",
)
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
# Words of other systems for what has a word of its own here; django's sessions keep their name.
REFUSED = re.compile(r"(^|_)(snapshot|session|run|job)(_?id)?s?$", re.IGNORECASE)
# Third-party names that we meet, and the verb "to run" in front of something.
KNOWN = {
    "session",  # Django's login session, in dashboard only
    "sessions",
    "run",  # the sockets' folder and asyncio.run
    "run_on",
    # Names of the protocols of Pydantic AI and the OpenAI Agents SDK.
    "clear_session",
    "get_default_run_id",
    "wrap_run",
    # The name that allauth calls an adapter by.
    "get_requests_session",
    # Names that LangGraph calls a saver by.
    "delete_for_runs",
    "adelete_for_runs",
}

# Words that say nothing of the value they name: payload, message, query, result, args, saved,
# expected, current, path and position do. What still bears one is listed; the list only shrinks.
VAGUE = frozenset(
    [
        "told",
        "said",
        "asked",
        "found",
        "given",
        "kept",
        "meant",
        "whoever",
        "stands",
        "standing",
        "over",
        "soon",
        "way",
        "course",
        "place",
    ]
)
LEFT: dict[str, list[str]] = json.loads((Path(__file__).parent / "words.json").read_text())


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


@cache
def definitions(path: Path) -> list[tuple[str, str]]:
    """(name, docstring) of each function and class of a module."""
    return [
        (node.name, ast.get_docstring(node) or "")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_or_class_takes_a_refused_word_as_its_noun(path: Path) -> None:
    names = [name for name, _ in definitions(path)]
    assert [n for n in names if REFUSED.search(n) and n.lower() not in KNOWN] == []


def names(tree: ast.AST) -> Iterator[str]:
    """All identifiers that a module makes: of functions, classes, arguments, variables, fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def vague_names() -> dict[str, list[str]]:
    """Path of each module that has some -> the vague names in it."""
    folders = (*FLOORS, "tests", "benchmarks", "tools")
    vague = {}
    for path in sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py")):
        if "migrations" in path.parts or "golden" in path.parts:
            continue
        seen = {n for n in names(ast.parse(path.read_text())) if n.strip("_").lower() in VAGUE}
        if seen:
            vague[str(path.relative_to(ROOT))] = sorted(seen)
    return vague


def test_no_vague_name_is_added_and_the_list_of_those_left_only_shrinks() -> None:
    assert vague_names() == LEFT, (
        "rename it, or take what is gone off tests/architecture/words.json"
    )


# A docstring begins with a verb or with the thing. Of those that begin with a question only fewer
# may be left.
RIDDLE = re.compile(r"(What|Whether|How|Where|Who|Whose|Why|When|It|This)\b")
RIDDLES_LEFT = 10


def test_docstrings_begin_with_a_verb_or_the_thing() -> None:
    riddles = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in modules()
        for _, text in definitions(path)
        if RIDDLE.match(text)
    ]
    assert len(riddles) <= RIDDLES_LEFT, riddles[-5:]


PLAIN = re.compile(r"\b(whoever|not .{1,60} any more|no more of)\b", re.IGNORECASE)


@pytest.mark.parametrize("suffix", ["py", "html", "js", "sql", "md"])
def test_texts_say_who_and_no_longer(suffix: str) -> None:
    """ "whoever" names nobody, and "not ... any more" is "no longer": in text that people read."""
    folders = [ROOT / floor for floor in (*FLOORS, "templates", "docs")]
    odd = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in folders
        for path in folder.rglob(f"*.{suffix}")
        if not {"migrations", "golden", "adr", "node_modules"} & set(path.parts)
        for line in path.read_text().splitlines()
        if PLAIN.search(line)
    ]
    assert odd == []
