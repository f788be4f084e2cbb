"""What an agent version's code consists of, part by part, and how two versions differ; pure.

`AgentVersion.code` is `{"parts": [{"file", "name", "digest", "text"}], "packages": {name: version},
"former": fingerprint}`. A part is a function, a method, a class, a name of the module, or (without
a name) a whole file; `text` is its normalised source, left out where it is large. `former` is the
fingerprint that the same sources have by the rule before this one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field

NAMED_AT_MOST: Final = 6
REORDERED: Final = "the order of its statements"


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A function, method, class or name of a module, or (without a name) a file."""

    file: str
    name: str
    kind: Literal["changed", "added", "removed"]
    before: Annotated[
        str | None, Field(description="Normalised source; null where there is none or large.")
    ] = None
    after: str | None = None

    def __str__(self) -> str:
        """The part as a sentence names it."""
        where = f"{self.name} in {self.file}" if self.name else self.file
        return where if self.kind == "changed" else f"{where} ({self.kind})"

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """(mark, old line, new line) side by side; mark is "", "changed", "added" or "removed"."""
        return list(_side_by_side((self.before or "").split("\n"), (self.after or "").split("\n")))


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[CodeChange]:
    """The parts in which two versions differ, by file; empty where either was not recorded."""
    if not before or not after:
        return []
    old, new = _by_place(before), _by_place(after)
    changes: list[CodeChange] = []
    for file in sorted({file for file, _ in (*old, *new)}):
        of_file = list(_of_file(file, old, new))
        named = [c for c in of_file if c.name]
        if named or not of_file:
            changes += named
        elif _has_names(file, old) and _has_names(file, new):
            changes.append(CodeChange(file, REORDERED, "changed"))
        else:
            changes += of_file
    return changes


def summary(changes: Sequence[CodeChange], at_most: int = NAMED_AT_MOST) -> str:
    """The changes as part of a sentence; empty without any."""
    named = ", ".join(str(change) for change in changes[:at_most])
    more = len(changes) - at_most
    return f"{named} and {more} more" if more > 0 else named


def _by_place(code: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(part["file"], part["name"]): part for part in code.get("parts", ())}


def _has_names(file: str, parts: Mapping[tuple[str, str], Any]) -> bool:
    return any(of == file and name for of, name in parts)


def _of_file(
    file: str,
    old: Mapping[tuple[str, str], Mapping[str, Any]],
    new: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Iterator[CodeChange]:
    keys = dict.fromkeys(p for p in (*new, *old) if p[0] == file)
    if all(p not in old for p in keys) or all(p not in new for p in keys):
        added = next(iter(keys)) in new
        whole = (new if added else old).get((file, ""), {}).get("text")
        yield CodeChange(file, "", "added" if added else "removed", *_only(whole, new=added))
        return
    for key in keys:
        was, now = old.get(key), new.get(key)
        if was is not None and now is not None:
            if was["digest"] != now["digest"]:
                yield CodeChange(*key, "changed", was.get("text"), now.get("text"))
        elif now is not None:
            yield CodeChange(*key, "added", *_only(now.get("text"), new=True))
        elif was is not None:
            yield CodeChange(*key, "removed", *_only(was.get("text"), new=False))


def _only(text: str | None, *, new: bool) -> tuple[str | None, str | None]:
    return (None, text) if new else (text, None)


def _side_by_side(old: list[str], new: list[str]) -> Iterator[tuple[str, str, str]]:
    marks = {"equal": "", "replace": "changed", "insert": "added", "delete": "removed"}
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for n in range(max(b - a, d - c)):
            left = old[a + n] if a + n < b else ""
            right = new[c + n] if c + n < d else ""
            yield marks[tag], left, right
