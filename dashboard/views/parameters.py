"""What query parameters of pages may hold: one word of a list, an id, a number, a short text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from checkpoints.queries import DEPTH_MAX
from dashboard.drawing.places import POINTER_MAX
from dashboard.pages.parts.comparison import SIDE
from dashboard.pages.parts.values import EVENT

TEXT_MAX: Final = 200
QUERY_MAX: Final = 1_000  # as of the API


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a parameter takes; `takes` ends the sentence “It takes …”.

    `words` lists them where there are few. An empty value is always the same as none.
    """

    takes: str
    fits: Callable[[str], bool]
    words: tuple[str, ...] = ()


def one_of(words: Collection[str], *, also: Collection[str] = ()) -> Values:
    """One of these words; those in `also` are taken and not listed (older names, longer forms)."""
    listed = tuple(words)
    known = frozenset((*listed, *also))
    return Values(", ".join(listed), known.__contains__, listed)


def some_of(words: Collection[str]) -> Values:
    """Some of these words, parted by commas."""
    listed, known = tuple(words), frozenset(words)
    fits = lambda value: known.issuperset(filter(None, value.split(",")))  # noqa: E731
    return Values(f"{', '.join(listed)}, or several with commas between", fits, listed)


def _is_id(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 18


def _is_text(value: str) -> bool:
    # NUL cannot be asked of PostgreSQL; nothing that is stored contains it.
    return len(value) <= TEXT_MAX and "\0" not in value


ID: Final = Values("an id, such as 0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10", _is_id)
NUMBER: Final = Values("a whole number", _is_number)
NUMBER_OR_ID: Final = Values(
    "a number or an id",
    lambda value: (_is_number(value) and len(value) < 10) or _is_id(value),
)
DEPTH: Final = Values(
    f"a whole number up to {DEPTH_MAX:,}",
    lambda value: _is_number(value) and int(value) <= DEPTH_MAX,
)
TEXT: Final = Values(f"at most {TEXT_MAX} characters", _is_text)
QUERY: Final = Values(
    f"at most {QUERY_MAX:,} characters", lambda value: len(value) <= QUERY_MAX and "\0" not in value
)
POINT: Final = Values(
    "the id of a thread, alone or with :NUMBER of a checkpoint or :branch-NUMBER behind it",
    lambda value: bool(SIDE.fullmatch(value)),
)
PART: Final = Values(
    "the id of a thread with :NUMBER of a checkpoint or :event-NUMBER behind it",
    lambda value: bool(SIDE.fullmatch(value) or (EVENT.fullmatch(value) and _is_id(value[:36]))),
)
POINTER: Final = Values(
    f"a JSON Pointer of at most {POINTER_MAX:,} characters",
    lambda value: len(value) <= POINTER_MAX and value.startswith("/") and "\0" not in value,
)
FLAG: Final = one_of(("1",), also=("true", "yes"))
# A place in a list: what it holds is judged by the list that made it.
CURSOR: Final = Values("what a link to the next page holds", _is_text)
COLUMNS: Final = Values(
    "numbers of columns, such as 1 or -2.1",
    lambda value: bool(re.fullmatch(r"-?\d{1,2}(\.-?\d{1,2}){0,9}", value, re.ASCII)),
)
