"""Texts that people read use the field's words: phrases that were replaced do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.size import FLOORS, parsed

from .sources import files, name

# What is refused -> what is written instead.
REPLACED = {
    r"what (came|comes|became|becomes) of\b": "the outcome, what happens to",
    r"\bis awaited\b": "waiting for",
    r"\bgo(es)? on\b": "continue",
    r"\b(taken|take it|take one's .*) back\b": "undone, undo, withdraw",
    r"\bstands? behind\b|\bstands still\b": "is after, is stuck",
    r"\bfits? (its|their) hash\b": "match its hash",
    r"\bis no (text|number|valid)\b|^This is no\b": "isn't a",
    r"(^|[.;(] ?)Else\b": "Default:",
    r"\bgoes before it\b": "is used instead",
    r"when (it is )?empty\b": "Default:, Optional",
    r"\bAll but\b": "Hide, all except",
    r"\bIts row\b": "Raw record",
    r"\balike troubles?\b|\bin the same trouble\b": "the same problem",
    r"\b(news|events|records?) away\b|\btakes? .* events away\b": "export",
    r"\bhears? of\b": "is notified of, subscribes to",
    r"\bnobody['’]s\b": "not anyone's",
    r"\bThey part\b|\bWhere they stand\b": "First difference, Status",
    r"\bRoll the thread\b.*\bback\b": "Roll back",
    r"\b[Ll]ooked through\b": "scanned",
    r"\bmend\b": "fix",
    r"\bat once[.,;]": "immediately",
    r"\bso many (go|are|threads|minutes|seconds)\b|\bSuch a share\b": "the number of",
    r"\bWoke up\b|\bWent to sleep\b": "Resumed, Sleeping",
    r"\bNeeds (you|a person)\b": "Needs attention",
    r"\bput .* behind it\b": "add",
    r"\bworker free\b": "no worker in use",
    r"\bstay as they are\b": "don't change",
    r"\bwhere the worker works\b": "on the worker",
    r"\bWhose\b(?! content)": "Owner, applies to",
    r"\bPossible for\b|\bof one number\b": "0 threads, the same number",
    r"\bnothing personal\b": "no personal data",
    r"\bCounted are\b": "Includes",
}
REFUSED = {re.compile(phrase): plain for phrase, plain in REPLACED.items()}
SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|CASE WHEN|CREATE|clock_timestamp)\b")


def python_texts(path: Path) -> Iterator[str]:
    """Each text of a module but docstrings, f-strings with `{}` for their values."""
    tree = parsed(path)
    skipped = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in skipped:
            yield str(node.value)


def template_texts(path: Path) -> Iterator[str]:
    """The texts between the tags of a template, and those of attributes that people meet."""
    source = re.sub(r"\{#.*?#\}", "", path.read_text(), flags=re.S)
    yield from re.findall(r'(?:aria-label|title|placeholder|data-label)="([^"]*)"', source)
    source = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", source, flags=re.S)
    yield from re.split(r"<(?!/?(?:b|code|a|span|em|time)\b)[^>]*>", source)


def texts() -> Iterator[tuple[Path, str]]:
    for path in files(".py", FLOORS):
        # Names of spans are read by machines, a prompt by a model.
        if not {"tracing", "react"} & set(path.parts):
            yield from ((path, text) for text in python_texts(path))
    for path in files(".html", ("templates",)):
        yield from ((path, text) for text in template_texts(path))


@pytest.fixture(scope="module")
def shown() -> list[tuple[str, str]]:
    return [
        (name(path), " ".join(re.sub(r"<[^>]*>", "", text).split()))
        for path, text in texts()
        if not SQL.search(text)
    ]


def test_texts_are_found(shown: list[tuple[str, str]]) -> None:
    every = {text for _, text in shown}
    assert "Gatepost can’t continue on its own" in every  # of a module
    assert "Undo first, then cancel" in every  # of a template
    assert len(every) > 5000


def test_no_replaced_phrase_comes_back(shown: list[tuple[str, str]]) -> None:
    odd = [
        f"{path}: {text[:120]!r}: write {plain!r}"
        for path, text in shown
        for phrase, plain in REFUSED.items()
        if phrase.search(text)
    ]
    assert odd == [], "\n".join(odd)
