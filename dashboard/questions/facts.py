"""Facts of an event that can answer a question: sentences and values."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from checkpoints.queries.history import texts
from checkpoints.queries.history.passages import Passage
from checkpoints.states import EventKind as K
from dashboard.wording.events import event_sentence

from .word_forms import all_stems, written

SENTENCE_MAX: Final = 400
WHOLE_MAX: Final = 240  # a text of several sentences that is also a fact as a whole
LEAVES_MAX: Final = 4_000  # of one event
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ0-9“\"'(])|\n+")
_CLAUSE: Final = re.compile(r"[,;:.!?](?:\s|$)|\s(?:and|but|so)\s")
_MARKS: Final = re.compile(r"^[\s#>*\-|`]+|[\s|`*]+$")
# Kinds whose sentence says how the engine works; what they name is read all the same.
_ENGINE: Final = frozenset(
    {
        *(K.CHECKPOINT_COMMITTED, K.WAY_TAKEN, K.LEASE_ACQUIRED, K.ACTIVITY_FINISHED),
        *(K.VALUE_RECORDED, K.CURSOR_KEPT, K.NODE_FINISHED),
    }
)
_WORKINGS: Final = frozenset({"branch", "config", "key", "ordinal", "v"})
_BY: Final = ("by_name", "by")
# Members of a row that say which one it is, in this order; others follow.
_NAMING: Final = (
    "name",
    "package",
    "invoice",
    "supplier",
    "title",
    "id",
    "number",
    "key",
    "file",
    "order",
    "line",
    "tool",
)


@dataclass(frozen=True)
class Fact:
    """A sentence or a value that an event records.

    `own` are the words of it, those of the row of a value included. `label` is the name of a value,
    empty of a sentence; `is_one_of_many` says that it is of a row of a list, and `which` has the
    words of what names that row. `by` is the person of an event. `rank` orders facts that answer
    alike: what the log says of itself, then what the agent says, then what stands in values.
    """

    passage: Passage
    text: str
    rank: int
    label: str = ""
    value: Any = None
    row: frozenset[str] = frozenset()
    which: frozenset[str] = frozenset()
    is_one_of_many: bool = False
    by: str = ""
    is_event: bool = False

    @cached_property
    def own(self) -> frozenset[str]:
        """The words of the fact, as they are compared."""
        if self.label:
            return all_stems(f"{self.label} {self.value}") | self.row
        return all_stems(self.text)

    @cached_property
    def clauses(self) -> list[str]:
        """The parts of its text between commas, stops and conjunctions."""
        return clauses_of(self.text)

    @cached_property
    def spoken(self) -> list[str]:
        """The words of its text in their order, as they are written."""
        return [word.casefold() for word in written(self.text)]


def facts_of(passage: Passage, people: Mapping[str, str]) -> Iterator[Fact]:
    """All facts of an event."""
    data = passage.data
    by = str(next((data[name] for name in _BY if isinstance(data.get(name), str)), ""))
    if not by and passage.actor.startswith("user:"):
        by = people.get(passage.actor, "")
    says = event_sentence(cast(Any, passage), people)
    comment = data.get("comment")
    if isinstance(comment, str) and comment and comment not in says:
        says = f"{says}: “{comment}”"
    if passage.kind not in _ENGINE:
        yield Fact(passage, says, 0, by=by, is_event=True)
    for rank, values in ((1, data), (2, passage.result), (2, passage.changes), (3, passage.args)):
        yield from _in_values(passage, values, rank)
    if data.get("media_type") == "text/csv":
        yield from _in_values(passage, list(csv.DictReader(passage.file.splitlines())), 3)
        return
    for sentence in sentences(passage.file):
        yield Fact(passage, sentence, 3)


def clauses_of(text: str) -> list[str]:
    """The parts of a text between commas, stops and conjunctions."""
    return [part for part in _CLAUSE.split(text) if part.strip()]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, a line without a stop among them."""
    return [part for part in _END.split(text) if part.strip()]


def around(passage: Passage) -> frozenset[str]:
    """The words of what an event belongs to, as they are compared."""
    # The verb alone: that there was a request for approval does not say that somebody approved.
    kind = passage.kind.partition(".")[2]
    name = str(passage.data.get("name", "")) if passage.file else ""
    return all_stems(f"{kind} {passage.tool} {passage.node} {passage.agent} {name}")


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text that have at least three words."""
    for sentence in sentences_of(text):
        line = _MARKS.sub("", sentence)
        if len(line.split()) >= 3:
            yield line[:SENTENCE_MAX]


def _in_values(passage: Passage, values: Any, rank: int) -> Iterator[Fact]:
    rows: dict[tuple[str | int, ...], list[tuple[str, Any]]] = {}
    for count, (path, value) in enumerate(texts.leaves(values)):
        if count >= LEAVES_MAX:
            break
        label = next((str(name) for name in reversed(path) if isinstance(name, str)), "")
        if isinstance(value, str) and len(value.split()) >= 4:
            yield from _prose(passage, value, rank)
        rows.setdefault(path[:-1], []).append((label, value))
    for path, members in rows.items():
        of = " ".join(name for name in path if isinstance(name, str))
        named = [pair for pair in members if pair[0] in _NAMING and len(str(pair[1])) <= 80]
        row = all_stems(of).union(*(_words_of(*pair) for pair in members))
        which = frozenset(word for _, value in named for word in all_stems(str(value)))
        for label, value in members:
            if not label or (rank == 1 and label in _WORKINGS):
                continue
            yield Fact(
                passage,
                _sentence(label, value, [pair for pair in named if pair != (label, value)], of),
                rank + 1,
                label=label,
                value=value,
                row=row,
                which=which,
                is_one_of_many=any(isinstance(name, int) for name in path),
            )


def _words_of(label: str, value: Any) -> frozenset[str]:
    return all_stems(f"{label} {str(value)[:SENTENCE_MAX]}")


def _prose(passage: Passage, text: str, rank: int) -> Iterator[Fact]:
    """A text's sentences, and a short text as a whole: a reason often is the second of two."""
    parts = list(sentences(text))
    if len(parts) > 1 and len(text) <= WHOLE_MAX:
        yield Fact(passage, text, rank)
    for part in parts:
        yield Fact(passage, part, rank)


def _sentence(label: str, value: Any, named: list[tuple[str, Any]], of: str) -> str:
    """A value with its name, and which row it is of."""
    ordered = sorted(named, key=lambda pair: _NAMING.index(pair[0]))
    where = ", ".join(f"{name} {other}" for name, other in ordered[:3]) or of
    shown = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    text = f"{label.replace('_', ' ').capitalize()}: {shown[:SENTENCE_MAX]}"
    return f"{text} ({where})" if where and where != label else text
