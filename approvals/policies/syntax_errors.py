"""Explain in words why a condition cannot be parsed; pure."""

from __future__ import annotations

import re
from typing import Final

_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)")
_AT: Final = re.compile(r"(?:at|input|identifier):? '?(.+?)'?(?: expecting .*)?$")
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_WORDS: Final = {"and": "&&", "or": "||", "not": "!"}


def operator_of(word: str) -> str:
    """Return the operator that somebody meant by `and`, `or` or `not`; empty for others."""
    return _WORDS.get(word.lower(), "")


def in_words(text: str, message: str) -> str:
    """Explain the parser's message about `text`: what is wrong, where, and what to write."""
    errors = [(int(line), int(at), what) for line, at, what in _ERROR.findall(message)]
    if not errors:
        return "it is not a condition"
    # What could not be split into words explains the rest, wherever it stands.
    line, at, what = next((e for e in errors if "token recognition" in e[2]), errors[0])
    position = f" (character {at})" if line == 1 else f" (line {line}, character {at})"
    lines = text.splitlines() or [""]
    row = lines[line - 1] if line <= len(lines) else ""
    return _explained(row[: at - 1].rstrip(), row[at - 1 :], what) + position


def _explained(before: str, after: str, what: str) -> str:
    before = re.sub(r"//.*$", "", before)
    match = _AT.search(what)
    part = match[1].strip() if match else after.strip()[:20]
    previous = (re.findall(r"'[^']*'|\"[^\"]*\"|[\w.]+|[^\w\s]+", before) or [""])[-1]
    if "token recognition" in what:
        return _unreadable(before, part)
    if "<EOF>" in part:
        if closing := _missing(before, what):
            return f"a `{closing}` is missing at the end"
        return (
            f"it ends too early; something must follow `{previous}`" if previous else "it is empty"
        )
    if "reserved" in what:
        return f"`{part}` is a reserved word; a condition is true or false by itself"
    if operator := operator_of(part):
        return f"write `{operator}` instead of `{part}`"
    if operator := operator_of(previous):
        return f"write `{operator}` instead of `{previous}`"
    if before.endswith("<") and part == ">":
        return "write `!=` for “is not equal”"
    if part == "," and previous[-1:].isdigit():
        return "write numbers without separators, such as 1000.50"
    if part in (")", "]", "}"):
        return f"`{part}` closes nothing that is open"
    if re.fullmatch(r"[\w.'\"]+.*", part) and re.fullmatch(r"[\w.]+|['\")\]].*", previous):
        return f"`{part}` cannot follow `{previous}`; join conditions with `&&` or `||`"
    return f"`{part}` cannot stand here"


def _unreadable(before: str, part: str) -> str:
    if part[:1] in "“”„‘’«»":
        return "write straight quotes, such as 'pay'"
    if part[:1] in ("'", '"') or part[:2].lower() in ("r'", 'r"', "b'", 'b"'):
        return "a text has no closing quote"
    if part[:1] == "=":
        return "write `==` to compare"
    if part[:1] in ("&", "|"):
        return f"write `{part[0] * 2}`"
    return f"`{part}` cannot be part of a condition"


def _missing(before: str, what: str) -> str:
    """The bracket that is still open at the end and that the parser expected next, or empty."""
    opened: list[str] = []
    for one in re.sub(r"'[^']*'|\"[^\"]*\"", "", before):
        if one in _CLOSES:
            opened.append(_CLOSES[one])
        elif opened and one == opened[-1]:
            opened.pop()
    last = opened[-1] if opened else ""
    return last if last and f"'{last}'" in what else ""
