"""The query language of the board: text to terms and back; pure.

A query is terms with spaces between; each narrows what the others leave. A term is a filter,
`name:value` or `name:value,value` (any of them), or free text, which is looked for at the
beginnings of words in titles, agents, labels and errors, and in ids. A `-` in front takes what does
not match; `OR` between two terms takes what matches either. Text with spaces, commas or colons is
put in quotes:
`agent:payments status:failed,attention age:>2h -label:team=finance "Invoice 4711: tea"`.

What is wrong is explained at its word: `InvalidQuery` has the word, where it begins, what is
allowed, and queries that may have been meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Final

from ...errors import InvalidValue
from ...state import deltas
from ...states import Status

TERMS_MAX: Final = 20
VALUES_MAX: Final = 20
TEXT_MAX: Final = 1_000
UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
SECONDS_MAX: Final = 100 * 365 * 86_400
COST_MAX: Final = Decimal(10) ** 9
HAS: Final = ("stuck", "error", "approval", "fork", "parent", "damage")

STATE: Final = "state."
PATH_MAX: Final = 200
PATH_NAMES_MAX: Final = 5

_NAME: Final = re.compile(r"([Ss]tate(?:\.[\w-]+)+|[A-Za-z]+(?:\.[A-Za-z_]+)*):")
_AMOUNT: Final = re.compile(r"([<>])([0-9]{1,12}(?:\.[0-9]{1,6})?)")
_SPAN: Final = re.compile(r"([<>])([0-9]{1,9})([smhdw])")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2})?", re.ASCII)
_OR: Final = re.compile(r"OR(?!\S)")
_BARE: Final = re.compile(r'[^\s,"\\]+')


class InvalidQuery(InvalidValue):
    """A word of a query is not understood; `word` begins at `position`, counted from 0."""

    def __init__(
        self, word: str, position: int, reason: str, instead: tuple[str, ...] = ()
    ) -> None:
        self.shown = word if len(word) <= 40 else f"{word[:40]}…"
        self.character = position + 1
        super().__init__("q", f"“{self.shown}” (character {self.character}) {reason}")
        self.word = word
        self.position = position
        self.explanation = reason
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Term:
    """One filter with the values that it takes, any of them; free text where `name` is empty.

    A filter of a value in the state has its path in the name: `state.order.customer`. `others`
    are the terms that an OR joins to this one.
    """

    name: str
    values: tuple[str, ...]
    negated: bool = False
    position: int = field(default=0, compare=False)
    others: tuple[Term, ...] = ()

    @property
    def alternatives(self) -> tuple[Term, ...]:
        """The terms of which one has to match: this one, and those that an OR joins to it."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    @property
    def path(self) -> list[str]:
        """The path in the state, its channel first; empty for any other filter."""
        return self.name.split(".")[1:] if self.name.startswith(STATE) else []

    def __str__(self) -> str:
        values = ",".join(_written(self.name, value) for value in self.values)
        text = f"{'-' if self.negated else ''}{self.name}{':' if self.name else ''}{values}"
        return " OR ".join((text, *map(str, self.others)))


@dataclass(frozen=True, slots=True)
class Query:
    """Terms that narrow a list of threads; every one has to match."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of the language: what it takes, in words and by its check.

    `check` gives what is wrong with a value, empty where nothing is. `written` is what stands
    before the colon, if not the name.
    """

    takes: str
    example: str
    check: Callable[[str], str]
    words: tuple[str, ...] = ()
    written: str = ""


def _is_name(value: str) -> str:
    return "" if value else "needs a name"


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value in words:
            return ""
        near = get_close_matches(value[:80], words, n=1)
        expected = f" Did you mean “{near[0]}”?" if near else ""
        return f"is not one of {', '.join(words)}.{expected}"

    return check


def _is_span(value: str) -> str:
    match = _SPAN.fullmatch(value)
    if match is None:
        return "is not a time such as >10m or <2d (s, m, h, d, w)"
    return "" if int(match[2]) * UNITS[match[3]] <= SECONDS_MAX else "is more than 100 years"


def _is_amount(value: str) -> str:
    match = _AMOUNT.fullmatch(value)
    if match is None:
        return "is not an amount such as >0.50 or <5"
    return "" if Decimal(match[2]) <= COST_MAX else f"is more than {COST_MAX:,}"


def _is_label(value: str) -> str:
    return "" if value.partition("=")[0] else "is not a label such as team=finance, or team alone"


def _is_day(value: str) -> str:
    try:
        if _DAY.fullmatch(value.upper()):
            day_of(value)
            return ""
    except ValueError:
        pass
    return "is not a day such as 2026-11-26, or a time such as 2026-11-26T14:30 (UTC)"


def day_of(value: str) -> datetime:
    """The time of a checked day or minute, UTC."""
    return datetime.fromisoformat(value.upper()).replace(tzinfo=UTC)


STATUSES: Final = tuple(map(str, Status))
FILTERS: Final[Mapping[str, Filter]] = {
    "status": Filter(", ".join(STATUSES), "status:failed,paused", _one_of(STATUSES), STATUSES),
    "agent": Filter("names of agents", "agent:payments", _is_name),
    "node": Filter("names of nodes that come next", "node:publish", _is_name),
    "stuck": Filter("names of nodes at which threads are stuck", "stuck:publish", _is_name),
    "age": Filter("time since the start", "age:>2h", _is_span),
    "idle": Filter("time since the last event", "idle:>30m", _is_span),
    "since": Filter("started at this day or later", "since:2026-11-26", _is_day),
    "before": Filter("started before this day", "before:2026-11-26", _is_day),
    "by": Filter("people who started it", "by:operator", _is_name),
    "error": Filter("words of the error it failed with", "error:timeout", _is_name),
    "cost": Filter("what the calls cost so far", "cost:>0.50", _is_amount),
    "label": Filter("labels", "label:team=finance", _is_label),
    "state": Filter(
        "values of searchable channels",
        "state.customer:acme",
        lambda value: "",
        written="state.CHANNEL",
    ),
    "has": Filter(", ".join(HAS), "has:stuck", _one_of(HAS), HAS),
}
_LOWERED: Final = frozenset({"status", "has", "age", "idle"})
_CORRECTED: Final = 3  # queries that may have been meant


def parse(text: str) -> Query:
    """Read a query; raises InvalidQuery at the first word that is wrong."""
    deltas.check(text, "q")
    return Query(tuple(_joined(text)))


def seconds_of(value: str) -> tuple[str, int]:
    """(sign, seconds) of a checked time such as `>10m`."""
    sign, number, unit = value[0], value[1:-1], value[-1]
    return sign, int(number) * UNITS[unit]


def amount_of(value: str) -> tuple[str, Decimal]:
    """(sign, amount) of a checked amount such as `>0.50`."""
    return value[0], Decimal(value[1:])


def _joined(text: str) -> Iterator[Term]:
    """The terms of a query; those with an OR between them as one, its alternatives."""
    group: list[Term] = []
    joins = False
    for term in _terms(text):
        if isinstance(term, Term):
            if group and not joins:
                yield replace(group[0], others=tuple(group[1:]))
                group = []
            group.append(term)
            joins = False
        elif joins or not group:
            raise InvalidQuery("OR", term, _NEEDS_BOTH)
        else:
            joins, last = True, term
    if joins:
        raise InvalidQuery("OR", last, _NEEDS_BOTH)
    if group:
        yield replace(group[0], others=tuple(group[1:]))


_NEEDS_BOTH: Final = "needs a term on both sides. Put it in quotes to look for the word."


def _terms(text: str) -> Iterator[Term | int]:
    """Terms, and for each OR the place where it stands."""
    at, count = 0, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if _OR.match(text, at):
            yield at
            at += 2
            continue
        begin, count = at, count + 1
        if count > TERMS_MAX:
            raise InvalidQuery(text[at : at + 20], at, f"is one too many: {TERMS_MAX} are allowed.")
        negated = text[at] == "-" and at + 1 < len(text) and not text[at + 1].isspace()
        at += negated
        name, after = _name(text, at)
        if not name:
            value, at = _free(text, at)
            yield Term("", (value,), negated, begin)
            continue
        values, at = _values(text, begin, after)
        yield _checked(name, values, negated, text[begin:at], begin)


def _name(text: str, at: int) -> tuple[str, int]:
    """(filter, where its values begin); no filter where free text begins."""
    if (match := _NAME.match(text, at)) is None:
        return "", at
    name = match[1].lower()
    if name.startswith(STATE):
        return _checked_path(STATE + match[1][len(STATE) :], match[0], at), match.end()
    if name == "state":
        raise InvalidQuery(match[0], at, f"needs a path: {FILTERS[name].example}")
    if name not in FILTERS:
        near = get_close_matches(name, FILTERS, n=1)
        value = re.match(r"[^\s,\"]*", text[match.end() :])
        label = f" A label is written label:{name}={value[0] if value and value[0] else '…'}."
        expected = f" Did you mean “{near[0]}:”?" if near else label
        raise InvalidQuery(
            match[0],
            at,
            f"is not a filter.{expected} Filters are {', '.join(FILTERS)}. "
            "Put text with a colon in quotes.",
            _corrected(text, at, match.end(), near),
        )
    return name, match.end()


def _corrected(text: str, at: int, after: int, near: list[str]) -> tuple[str, ...]:
    """Queries that may be meant where `text[at:after]`, such as `team:`, is no filter."""
    name, rest = text[at : after - 1], text[after:]
    end = next((i for i, letter in enumerate(rest) if letter.isspace()), len(rest))
    value, behind = rest[:end], rest[end:]
    tries = [f"{one}:{rest}" for one in near]
    if value and '"' not in value:
        tries.append(f"label:{name}={value}{behind}")
    # What follows a space is part of a text such as “TypeError: no number”.
    whole, left = (f"{name}:{value}", behind) if value else (text[at:].strip(), "")
    if '"' not in whole:
        tries.append(f'"{whole}"{left}')
    return tuple(text[:at] + one for one in tries if _is_read(text[:at] + one))[:_CORRECTED]


def _is_read(text: str) -> bool:
    try:
        parse(text)
    except InvalidValue:
        return False
    return True


def _checked_path(name: str, written: str, at: int) -> str:
    if len(name) > PATH_MAX or name.count(".") > PATH_NAMES_MAX:
        raise InvalidQuery(
            written,
            at,
            f"is too long a path: {PATH_NAMES_MAX} names and {PATH_MAX} characters are allowed.",
        )
    return name


def _filter(name: str) -> Filter:
    return FILTERS["state" if name.startswith(STATE) else name]


def _free(text: str, at: int) -> tuple[str, int]:
    """(text, where it ends): up to the next space, or a quoted text."""
    if text[at] == '"':
        value, end = _quoted(text, at)
        if not value.strip():
            raise InvalidQuery(text[at:end], at, "is empty: put some text between the quotes.")
        return value, end
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return _short(text[at:end], text[at:end], at), end


def _values(text: str, begin: int, at: int) -> tuple[list[tuple[str, str, int]], int]:
    """([(value, as it is written, where it begins)], where they end) of a filter."""
    values: list[tuple[str, str, int]] = []
    while True:
        if at < len(text) and text[at] == '"':
            value, end = _quoted(text, at)
        elif match := _BARE.match(text, at):
            value, end = _short(match[0], match[0], at), match.end()
        else:
            end = min(at + 1, len(text))
            name = text[begin:at].lstrip("-").partition(":")[0].lower()
            raise InvalidQuery(text[begin:end].strip(), begin, _missing(name))
        values.append((value, text[at:end], at))
        if len(values) > VALUES_MAX:
            raise InvalidQuery(text[at:end], at, f"is one too many: {VALUES_MAX} are allowed.")
        if end < len(text) and text[end] == ",":
            at = end + 1
            continue
        if end < len(text) and not text[end].isspace():
            raise InvalidQuery(text[at : end + 1], at, "needs a comma or a space after it.")
        return values, end


def _missing(name: str) -> str:
    one = _filter(name)
    return f"needs a value: {one.takes}. For example {one.example}"


def _quoted(text: str, at: int) -> tuple[str, int]:
    """(text, where it ends) between quotes; `\\` takes the next character as it is."""
    letters, end = [], at + 1
    while end < len(text) and text[end] != '"':
        end += text[end] == "\\"
        letters.append(text[end : end + 1])
        end += 1
    if end >= len(text):
        raise InvalidQuery(text[at:], at, "has no closing quote.")
    return _short("".join(letters), text[at : end + 1], at), end + 1


def _short(value: str, written: str, at: int) -> str:
    if len(value) > TEXT_MAX:
        raise InvalidQuery(written, at, f"is longer than {TEXT_MAX} characters.")
    return value


def _checked(
    name: str, values: list[tuple[str, str, int]], negated: bool, whole: str, begin: int
) -> Term:
    one, results = _filter(name), []
    for exact, written, at in values:
        value = exact.lower() if name in _LOWERED else exact
        if wrong := one.check(value):
            raise InvalidQuery(written if exact else whole, at if exact else begin, wrong)
        results.append(value)
    return Term(name, tuple(dict.fromkeys(results)), negated, begin)


def _written(name: str, value: str) -> str:
    """A value as it is written: in quotes where it has to be."""
    bare = _BARE.fullmatch(value) if name else re.fullmatch(r'[^\s"-]\S*', value)
    if bare and (name or not (_NAME.match(value) or value == "OR")):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
