"""A filter of a list, declared once: page, call, command and tool read the same record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from dashboard.errors import Invalid

from . import parameters
from .parameters import Values, some_of

# Where a filter can be given.
PAGE, CALL, COMMAND, TOOL = "page", "call", "command", "tool"
EVERYWHERE: Final = (PAGE, CALL, COMMAND, TOOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The values of a filter, which are texts in addresses and commands.

    `page` is what an address takes. `value` reads a text, None where it narrows nothing, and raises
    ValueError with the end of a sentence; `text` writes a value as addresses have it. `pattern`,
    `longest`, `low` and `high` are bounds that the API's document states, `in_address` is that of a
    text in its addresses. `choices` are all values there are: {word: what pages call it}. `input`
    is the type of its input on a page, `digits` the `inputmode` of one for numbers.
    """

    type: type
    page: Values
    value: Callable[[str], Any] = str
    text: Callable[[Any], str] = str
    pattern: str = ""
    longest: int = parameters.QUERY_MAX
    low: int = 0
    high: int = 0
    in_address: int = parameters.QUERY_MAX
    choices: Mapping[str, str] = field(default_factory=dict)
    input: str = "text"
    digits: str = ""


def text(longest: int) -> Kind:
    """A text; in JSON it takes up to `longest` characters."""
    return Kind(type=str, page=parameters.TEXT, longest=longest)


def number(high: int) -> Kind:
    """A whole number from 0."""
    fits = lambda word: parameters.NUMBER.fits(word) and int(word) <= high  # noqa: E731
    return Kind(type=int, page=Values(f"a whole number up to {high:,}", fits), value=int, high=high)


def some(words: Collection[str], one: Callable[[str], Any]) -> Kind:
    """Some of these words, by commas; `one` makes the value of a word."""

    def read_words(value: str) -> tuple[Any, ...] | None:
        parts = list(dict.fromkeys(filter(None, value.split(","))))
        if unknown := [part for part in parts if part not in words]:
            known = ", ".join(words)
            raise ValueError(f"does not know {', '.join(unknown)}; it knows {known}, by commas")
        return tuple(map(one, parts)) or None

    choice = f"(?:{'|'.join(words)})"
    pattern = f"^{choice}(?:,{choice})*$"
    return Kind(type=str, page=some_of(words), value=read_words, text=",".join, pattern=pattern)


def one(choices: Mapping[str, str]) -> Kind:
    """One of these words, each with what pages call it."""

    def read_word(word: str) -> str:
        if word not in choices:
            raise ValueError(f"knows only {', '.join(choices)}")
        return word

    return Kind(type=str, page=parameters.one_of(choices), value=read_word, choices=choices)


def _pair(word: str) -> tuple[str, str]:
    key, colon, value = word.partition(":")
    if not (key and colon):
        raise ValueError("is written key:value")
    return key, value


QUERY: Final = replace(text(parameters.QUERY_MAX), page=parameters.QUERY)
FLAG: Final = Kind(
    type=bool,
    page=parameters.FLAG,
    value=lambda word: word.lower() in ("1", "true", "yes") or None,
    text=lambda _: "1",
)
ID: Final = Kind(type=UUID, page=parameters.ID, value=UUID)
PAIR: Final = Kind(type=tuple, page=parameters.TEXT, value=_pair, text=":".join, pattern=r"^[^:]+:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Something that narrows a list, by the name of its parameter; `help` is a sentence.

    `label` is what pages call it: the form of a list has an input for each filter with one. `unset`
    is the choice of a select that narrows nothing.
    """

    name: str
    kind: Kind
    help: str
    endpoints: Collection[str] = EVERYWHERE
    label: str = ""
    unset: str = "Any"


@dataclass(frozen=True, slots=True)
class FilterInput:
    """The input of a filter in the form of a list, a select where there are `options`."""

    name: str
    label: str
    value: str
    kind: Kind
    options: Sequence[tuple[str, str]]
    longest: int = parameters.TEXT_MAX


def given_at[F: Filter](filters: Iterable[F], endpoint: str) -> tuple[F, ...]:
    """Those that can be given there."""
    return tuple(one for one in filters if endpoint in one.endpoints)


def page_values(filters: Iterable[Filter]) -> dict[str, Values]:
    """{parameter of a page's address: what it takes}."""
    return {one.name: one.kind.page for one in given_at(filters, PAGE)}


def read(filters: Iterable[Filter], texts: Mapping[str, str]) -> dict[str, Any]:
    """{name: value} of what is given; raises Invalid with the name."""
    values: dict[str, Any] = {}
    for one in filters:
        if word := texts.get(one.name, ""):
            try:
                value = one.kind.value(word)
            except ValueError as error:
                raise Invalid(one.name, str(error)) from error
            if value is not None:
                values[one.name] = value
    return values


def form_inputs(
    filters: Iterable[Filter],
    texts: Mapping[str, str],
    known: Mapping[str, Mapping[str, str]] | None = None,
) -> list[FilterInput]:
    """The inputs of a list's form, with the values of its address.

    A text is chosen from the words that are `known` for it: {word: what the page calls it}. One
    that is not among them stays.
    """
    inputs = []
    for one in given_at(filters, PAGE):
        if one.label:
            value, words = texts.get(one.name, ""), (known or {}).get(one.name)
            choices = one.kind.choices if words is None else words
            options: list[tuple[str, str]] = []
            if choices or words is not None:
                others = {} if value in ("", *choices) else {value: value}
                options = [("", one.unset), *others.items(), *choices.items()]
            inputs.append(FilterInput(one.name, one.label, value, one.kind, options))
    return inputs
