"""The report as Markdown: the answer, the passages with file and line, and what was not read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..published.markdown import escaped

SKIPPED_SHOWN = 20
TITLE_LENGTH = 120


def title_of(question: str) -> str:
    """The question on one line, as a title."""
    line = " ".join("".join(c if c.isprintable() else " " for c in question).split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def place_of(citation: Mapping[str, Any]) -> str:
    """Such as "celery/app/task.py, lines 640-649"."""
    line, end = citation["line"], citation["end"]
    lines = f"line {line}" if line == end else f"lines {line}-{end}"
    return f"{citation['file']}, {lines}"


def report(
    question: str,
    *,
    plan: Mapping[str, Any],
    read: int,
    pages: int,
    notes: int,
    terms: Sequence[str],
    citations: Sequence[Mapping[str, Any]],
    answer: Mapping[str, Any],
    elsewhere: Sequence[tuple[str, str, int]],
    skipped: Sequence[str],
) -> str:
    """The Markdown text; `answer` is {} where no model was asked."""
    parts = [f"# {escaped(title_of(question))}", f"> {escaped(question)}"]
    parts += [_opening(plan, read, pages, notes, terms)]
    if answer:
        parts += ["## Answer", *_answer(answer)]
    parts += ["## What the sources say"]
    if not citations:
        parts += ["No source that was read holds these words. Name other packages or other words."]
    for citation in citations:
        parts += _citation(citation)
    if elsewhere:
        rows = [f"| {escaped(file)} | {escaped(of)} | {n:,} |" for of, file, n in elsewhere]
        head = ["| File | Package | Words of the question |", "| --- | --- | ---: |"]
        parts += ["## Where to read on", "\n".join([*head, *rows])]
    parts += ["## What was not read", _not_read(plan, skipped), "## Method", _method(answer)]
    return "\n\n".join(parts) + "\n"


def _opening(
    plan: Mapping[str, Any], read: int, pages: int, notes: int, terms: Sequence[str]
) -> str:
    packages = [
        f"{escaped(one['name'])} {escaped(one['version'])} ({escaped(one['why'])})"
        for one in plan["packages"]
    ]
    if plan["upload"]:
        packages.insert(0, f"your file {escaped(plan['upload'])}")
    more = len(packages) - SKIPPED_SHOWN
    named = ", ".join(packages[:SKIPPED_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    words = ", ".join(escaped(term) for term in terms)
    web = f" and {_counted(pages, 'web page')}" if pages else ""
    what = f"{_counted(read, 'source')} of {named}{web}"
    return f"Read {what}; {_counted(notes, 'passage')} on: {words}."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _answer(answer: Mapping[str, Any]) -> list[str]:
    # A model's text is text: no heading, link or picture of it gets into the page.
    paragraphs = [escaped(part) for part in re.split(r"\n\s*\n", answer["text"]) if part.strip()]
    problems = []
    if answer["unknown"]:
        numbers = ", ".join(map(str, answer["unknown"]))
        problems.append(f"It cites numbers that no passage has: {numbers}.")
    if answer["uncited"]:
        problems.append(f"{_counted(answer['uncited'], 'paragraph')} of it cite no passage.")
    note = "Written by a model from the passages below; the numbers are theirs."
    return [*paragraphs, f"*{' '.join([note, *problems])}*"]


def _citation(citation: Mapping[str, Any]) -> list[str]:
    where = f" in `{_plain(citation['where'])}`" if citation["where"] else ""
    of = f"{citation['package']} {citation['version']}" if citation["package"] else "your file"
    if citation.get("at"):
        of = f"web page, read {citation['at'][:16].replace('T', ' ')} UTC; lines of its text"
    heading = f"### {citation['number']}. {escaped(place_of(citation))}"
    # The fence must be longer than any in the passage.
    runs = re.findall(r"`+", citation["text"])
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return [heading, f"{escaped(of)}{where}", f"{fence}\n{citation['text']}\n{fence}"]


def _plain(name: str) -> str:
    return " ".join(name.replace("`", "'").split())


def _not_read(plan: Mapping[str, Any], skipped: Sequence[str]) -> str:
    lines = []
    if plan["left_out"]:
        lines.append(f"- {_counted(plan['left_out'], 'source')} beyond the limit that you set.")
    lines += [f"- {escaped(one)}" for one in skipped[:SKIPPED_SHOWN]]
    if len(skipped) > SKIPPED_SHOWN:
        lines.append(f"- {len(skipped) - SKIPPED_SHOWN:,} more that could not be read.")
    return "\n".join(lines) or "All sources of these packages were read; tests are left out."


def _method(answer: Mapping[str, Any]) -> str:
    lines = [
        "- Passages are ten lines at most. Those come first that hold more and rarer words of the "
        "question, in documentation or under a name that holds one.",
        "- Each passage is quoted as it stands in its file, with the line numbers there.",
    ]
    if not answer:
        lines.append("- No model was asked: nothing here is worded by one.")
    return "\n".join(lines)
