"""Memories in words: what pages call their scopes, kinds and sources, and a line of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoints.memories import MemoryRow
from dashboard.identity.people import people

from .sentences import person

SCOPE_WORDS: Final = {
    "thread": "One thread",
    "agent": "One agent",
    "person": "One person",
    "workspace": "The workspace",
}
KIND_WORDS: Final = {
    "conversation": "Conversation",
    "fact": "Fact",
    "document": "Document",
}
SOURCE_WORDS: Final = {"agent": "Agent", "person": "Person", "import": "Import"}
STATE_WORDS: Final = {"kept": "Kept", "gone": "Gone"}


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory as pages show it: who reads it, who wrote, corrected and deleted it, by name."""

    row: MemoryRow
    kind: str
    scope: str
    readers: str
    author: str
    revised_by: str
    gone_by: str


def memory_lines(rows: Sequence[MemoryRow]) -> list[MemoryLine]:
    """Memories with the names of the people in them."""
    names = _names(rows)
    return [
        MemoryLine(
            row=row,
            kind=KIND_WORDS[row.kind],
            scope=SCOPE_WORDS[row.scope],
            readers=_readers(row, names),
            author=person(row.author, names),
            revised_by=person(row.revised_by, names) if row.revised_by else "",
            gone_by=person(row.gone_by, names) if row.gone_by else "",
        )
        for row in rows
    ]


def _names(rows: Iterable[MemoryRow]) -> dict[str, str]:
    actors = {name for row in rows for name in (row.author, row.revised_by, row.gone_by, row.owner)}
    return people({name for name in actors if name.startswith("user:")})


def _readers(row: MemoryRow, names: Mapping[str, str]) -> str:
    """The readers of a memory, in a phrase."""
    match row.scope:
        case "thread":
            return "its thread and the forks of it"
        case "agent":
            return f"all threads of {row.owner}"
        case "person":
            return f"agents that work for {names.get(row.owner, row.owner)}"
        case _:
            return "all agents of the workspace"
