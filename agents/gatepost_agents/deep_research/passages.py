"""The lines of one source that hold most of the terms, each passage with its place in the file."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from .terms import term_of, words_of

WINDOW = 10
PASSAGES_MAX = 2
LINE_MAX = 240
_HEADING = re.compile(r"^(#{1,6} +\S.*|(?:async )?(?:def|class) .*|\.\. .*::.*)$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#])\1{2,}$")


def passages(text: str, terms: Sequence[str], *, python: bool) -> dict[str, Any]:
    """{"lines", "counts": {term: lines that hold it}, "passages": [passage]}, best first.

    A passage: {"line", "end", "text", "terms": {term: how often}, "where", "named"}; `text` is
    exactly the lines from `line` to `end` (from 1). `where` is the function, class or heading that
    it stands in, `named` the terms that this is called by.
    """
    lines = text.removesuffix("\n").split("\n")
    wanted = frozenset(terms)
    hits = {
        number: terms_in for number, line in enumerate(lines) if (terms_in := _terms(line, wanted))
    }
    counts: dict[str, int] = {}
    for hit in hits.values():
        for term in set(hit):
            counts[term] = counts.get(term, 0) + 1
    outline = _outline(text, lines, python=python) if hits else []
    least = min(len(wanted), max(2, round(len(wanted) / 3)))
    chosen: list[dict[str, Any]] = []
    for _, begin, end in sorted(_windows(lines, hits, least), key=lambda w: (-w[0], w[1])):
        if len(chosen) == PASSAGES_MAX:
            break
        if any(begin < p["end"] and p["line"] - 1 < end for p in chosen):
            continue
        chosen.append(_passage(lines, hits, begin, end, outline, wanted))
    return {"lines": len(lines), "counts": counts, "passages": chosen}


def in_lines(text: str) -> str:
    """A text whose paragraphs are broken into lines that a passage can hold."""
    return "\n".join(
        line for whole in text.split("\n") for line in textwrap.wrap(whole, LINE_MAX // 2) or [""]
    )


def _terms(line: str, wanted: frozenset[str]) -> list[str]:
    return [term for word in words_of(line) if (term := term_of(word)) in wanted]


def _windows(
    lines: Sequence[str], hits: dict[int, list[str]], least: int
) -> Iterator[tuple[int, int, int]]:
    """(score, begin, end) of a window from each line with a term; different terms count most.

    A window holds `least` different terms or more.
    """
    for begin in hits:
        end = min(begin + WINDOW, len(lines))
        within = [term for number in range(begin, end) for term in hits.get(number, ())]
        different = len(set(within))
        if different < least or any(len(line) > LINE_MAX for line in lines[begin:end]):
            continue
        heading = bool(_HEADING.match(lines[begin].strip()))
        yield 8 * different + 4 * heading + min(len(within), 7), begin, end


def _passage(
    lines: Sequence[str],
    hits: dict[int, list[str]],
    begin: int,
    end: int,
    outline: Sequence[tuple[int, str]],
    wanted: frozenset[str],
) -> dict[str, Any]:
    while end > begin + 1 and not lines[end - 1].strip():
        end -= 1
    where = next((name for line, name in reversed(outline) if line <= begin), "")
    counts: dict[str, int] = {}
    for number in range(begin, end):
        for term in hits.get(number, ()):
            counts[term] = counts.get(term, 0) + 1
    return {
        "line": begin + 1,
        "end": end,
        "text": "\n".join(lines[begin:end]),
        "terms": counts,
        "where": where,
        "named": sorted(set(_terms(where, wanted))),
    }


def _outline(text: str, lines: Sequence[str], *, python: bool) -> list[tuple[int, str]]:
    """(line from 0, name) of functions and classes, or of headings, in the order of the lines."""
    if python:
        try:
            return sorted(_definitions(ast.parse(text), ""))
        except (SyntaxError, ValueError, RecursionError):
            return []
    headings = []
    for number, line in enumerate(lines):
        if line.startswith("#"):
            headings.append((number, line.lstrip("# ").strip()))
        elif number and _UNDERLINE.match(line) and lines[number - 1].strip():
            headings.append((number - 1, lines[number - 1].strip()))
    return headings


def _definitions(tree: ast.AST, inside: str) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            yield node.lineno - 1, name
            yield from _definitions(node, f"{name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, inside)
