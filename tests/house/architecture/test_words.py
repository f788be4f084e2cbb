"""The words of the glossary are the words of the code, and the other way round."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from checkpoints.states import EventKind, Status, WorkspaceEventKind
from tools.size import FLOORS, ROOT, parsed

from .sources import files, name, product

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


def test_the_glossary_lists_exactly_the_statuses() -> None:
    line = GLOSSARY.partition("## Statuses")[2].partition("## Events")[0]
    assert set(re.findall(r"`([a-z_]+)`", line)) == {str(s) for s in Status}


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
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]


def test_no_function_or_class_takes_a_refused_word_as_its_noun() -> None:
    refused = [
        f"{name(path)}: {noun}"
        for path in product()
        for noun, _ in definitions(path)
        if REFUSED.search(noun) and noun.lower() not in KNOWN
    ]
    assert refused == []


def names(tree: ast.AST) -> Iterator[str]:
    """All identifiers that a module makes: of functions, classes, arguments, variables, fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=noun) | ast.AsyncFunctionDef(name=noun):
                yield noun
            case ast.ClassDef(name=noun) | ast.arg(arg=noun):
                yield noun
            case ast.Name(id=noun, ctx=ast.Store()) | ast.Attribute(attr=noun, ctx=ast.Store()):
                yield noun


def vague_names() -> dict[str, list[str]]:
    """Path of each module that has some -> the vague names in it."""
    vague = {}
    for path in files(".py", (*FLOORS, "tests", "benchmarks", "tools")):
        if "golden" in path.parts:
            continue
        seen = {n for n in names(parsed(path)) if n.strip("_").lower() in VAGUE}
        if seen:
            vague[name(path)] = sorted(seen)
    return vague


def test_no_vague_name_is_added_and_the_list_of_those_left_only_shrinks() -> None:
    assert vague_names() == LEFT, "rename it, or take what is gone off words.json"


# A docstring begins with a verb or with the thing. Of those that begin with a question only fewer
# may be left.
RIDDLE = re.compile(r"(What|Whether|How|Where|Who|Whose|Why|When|It|This)\b")
RIDDLES_LEFT = 10


def test_docstrings_begin_with_a_verb_or_the_thing() -> None:
    riddles = [
        f"{name(path)}: {text.splitlines()[0]}"
        for path in product()
        for _, text in definitions(path)
        if RIDDLE.match(text)
    ]
    assert len(riddles) <= RIDDLES_LEFT, riddles[-5:]


PLAIN = re.compile(r"\b(whoever|not .{1,60} any more|no more of)\b", re.IGNORECASE)


def test_texts_say_who_and_no_longer() -> None:
    """ "whoever" names nobody, and "not ... any more" is "no longer": in text that people read."""
    odd = [
        f"{name(path)}: {line.strip()}"
        for suffix in (".py", ".html", ".js", ".sql", ".md")
        for path in files(suffix, (*FLOORS, "templates", "docs"))
        if "adr" not in path.parts
        for line in path.read_text().splitlines()
        if PLAIN.search(line)
    ]
    assert odd == []


# Metaphors for what has a name in the field: editor, endpoint, check, page, outcome, "continues",
# "immediately". Nouns count in names too, phrases in texts only: EVENTS_AT_ONCE is a name. An
# event records something and a person is notified: neither tells nor is told.
METAPHOR = re.compile(
    r"\b(deeds?|doors?|ears?|books?|desks?|witness(es)?|sheets?|hearts?|births?|born|bears?)\b"
)
PHRASE = re.compile(
    r"\b(go(es)? on|going on|went on|(what|who) (came|became|becomes|has become) of|so many"
    r"|at once|led over|com(es|ing) to rest|in peace|tells? of|tell whether)\b",
    re.IGNORECASE,
)
PLAIN_FOLDERS = (*FLOORS, "clients", "templates")
# Titles of things: what an auditor closes, an example's tool, a row of DESIGN's table of budgets.
IN_DOCS = re.compile(r"the books|books the money|\bbook\(|trips\.book|Books a|book,")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def has_metaphor(line: str) -> bool:
    """True if a line has one; of names like `AtTheDoor` and `at_the_door` each word counts."""
    words = " ".join(WORD.findall(line)).lower()
    return bool(METAPHOR.search(words) or PHRASE.search(line))


def test_names_and_texts_have_no_metaphors() -> None:
    odd = [
        f"{name(path)}:{number}: {line.strip()}"
        for suffix in (".py", ".sql", ".html", ".txt", ".md", ".css", ".js")
        for path in files(suffix, PLAIN_FOLDERS)
        if "vendor" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if has_metaphor(line)
    ]
    assert odd == []
    assert has_metaphor("def at_the_door")
    assert has_metaphor("class OpenDoor")
    assert not has_metaphor("# heartbeat, bearer, EVENTS_AT_ONCE, outdoors")


def test_documents_have_no_metaphors() -> None:
    """All but ADRs, which stay as they were decided, and the promises as the mission words them."""
    paths = [
        *files(".md", ("docs", "README.md", "CONTRIBUTING.md")),
        *files(".py", ("docs",)),
    ]
    odd = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in paths
        if "adr" not in path.parts
        for number, line in enumerate(path.read_text().partition("## All rows")[0].splitlines(), 1)
        if has_metaphor(without_paths(line))
    ]
    assert odd == []


def without_paths(line: str) -> str:
    """A line without paths of files and words that mean what they say."""
    return IN_DOCS.sub("", re.sub(r"`[\w/.]*(/|\.py)[\w/.]*`", "", line))
