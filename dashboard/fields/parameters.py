"""Query parameters of pages and their values: one word of a list, an id, a number, a short text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from dashboard.errors import Invalid

TEXT_MAX: Final = 200
QUERY_MAX: Final = 1_000  # as of the API
ADDRESS_MAX: Final = 2_000
# THREAD, or THREAD:CHECKPOINT by number or id, or THREAD:branch-N for the newest of a branch.
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
SIDE: Final = re.compile(
    rf"(?P<thread>{_UUID})(?::(?:(?P<number>\d{{1,9}})|(?P<id>{_UUID})|branch-(?P<branch>\d{{1,9}})))?",
    re.ASCII,
)
# Data of an event, in place of a checkpoint.
EVENT: Final = re.compile(rf"(?P<thread>{_UUID}):event-(?P<seq>\d{{1,17}})", re.ASCII)
POINTER_MAX: Final = 1_500  # characters of a JSON Pointer in an address


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a parameter takes; `takes` ends the sentence “It takes …”.

    `words` lists them where there are few. An empty value is always the same as none.
    """

    takes: str
    fits: Callable[[str], bool]
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrong:
    """A word of an address that is not taken: a parameter's `name`, or one of its values.

    `values` are None where the name is not known. `times` is more than 1 where a parameter came
    repeatedly that is taken once. `near` is what was probably meant.
    """

    name: str
    value: str = ""
    values: Values | None = None
    times: int = 1
    near: str = ""

    def explained(self, subject: str) -> str:
        """Sentences for the person; `subject` begins them, such as “This page”."""
        expected = f" Did you mean “{self.near}”?" if self.near else ""
        if self.times > 1:
            return f"The address names “{self.name}” {self.times} times; use it once."
        if self.values is None:
            return f"{subject} does not take “{self.name[:80]}”.{expected}"
        text = f"“{self.name}” does not take “{self.value[:80]}”.{expected}"
        return f"{text} It takes {self.values.takes}."


def address_lists(text: str) -> dict[str, list[str]]:
    """{parameter: its values} of an address such as `/?status=failed`; raises Invalid."""
    lists: dict[str, list[str]] = {}
    page, mark, words = text.strip().partition("?")
    if not mark or (page and not page.startswith("/")):
        words = text.strip().removeprefix("/")
    try:
        pairs = parse_qsl(words, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Invalid("$.address", "has a % that begins no letter of UTF-8") from error
    for name, value in pairs:
        lists.setdefault(name, []).append(value)
    return lists


def first_wrong(
    lists: Iterable[tuple[str, Sequence[str]]],
    once: Mapping[str, Values],
    many: Mapping[str, Values] | None = None,
) -> Wrong | None:
    """The first word of an address that is not taken; parameters in `many` may come repeatedly."""
    taken = {**once, **(many or {})}
    for name, values in lists:
        if name not in taken:
            return Wrong(name, near=_nearest(name, taken))
        if len(values) > 1 and name in once:
            return Wrong(name, values=taken[name], times=len(values))
        for value in values:
            if value and not taken[name].fits(value):
                return wrong_value(name, value, taken[name])
    return None


def wrong_value(name: str, value: str, values: Values) -> Wrong:
    """A value that its parameter does not take."""
    return Wrong(name, value, values, near=_nearest(value, values.words))


def _nearest(word: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(word[:80], known, n=1)), "")


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


def text_of(most: int) -> Values:
    """A text of at most `most` characters."""
    # NUL cannot be asked of PostgreSQL; nothing that is stored contains it.
    return Values(f"at most {most:,} characters", lambda v: len(v) <= most and "\0" not in v)


ID: Final = Values("an id, such as 0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10", _is_id)
NUMBER: Final = Values("a whole number", _is_number)
NUMBER_OR_ID: Final = Values(
    "a number or an id",
    lambda value: (_is_number(value) and len(value) < 10) or _is_id(value),
)
TEXT: Final = text_of(TEXT_MAX)
QUERY: Final = text_of(QUERY_MAX)
ADDRESS: Final = Values(
    f"an address of at most {ADDRESS_MAX:,} characters",
    lambda value: len(value) <= ADDRESS_MAX and "\0" not in value,
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
CURSOR: Final = Values("what a link to the next page holds", TEXT.fits)
COLUMNS: Final = Values(
    "numbers of columns, such as 1 or -2.1",
    lambda value: bool(re.fullmatch(r"-?\d{1,2}(\.-?\d{1,2}){0,9}", value, re.ASCII)),
)
