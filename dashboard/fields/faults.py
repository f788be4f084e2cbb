"""Faults of a value under a JSON Schema (Draft 2020-12), each with its path and in plain words.

API, forms and commands show the same words. A message continues the name of the value ("must be
at least 3") or says what to write ("use a date like 2026-11-30"); it never shows a regular
expression. `x-message` in a part of the schema replaces the words of its own keywords.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from itertools import islice
from typing import Any
from uuid import UUID

from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError

from checkpoints.state import deltas
from checkpoints.state.json_schemas import errors as judge
from checkpoints.state.json_schemas.soundness import BrokenSchema, broken_part
from checkpoints.state.schema_texts import with_definitions
from dashboard.errors import MESSAGE_CHARS, Fault, Invalid, clip

from .patterns import described

SHOWN = 5
ERRORS_MAX = 200  # that a value may have before they are reported as faults
DEEPEST = 4  # levels of a location that are named
OWN_WORDS = "x-message"

# format -> (what to write, how it is read); other formats are hints without a check.
_FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "date": ("use a date like 2026-11-30", date.fromisoformat),
    "date-time": ("use a date and time like 2026-11-30T09:30:00Z", datetime.fromisoformat),
    "time": ("use a time like 09:30:00", time.fromisoformat),
    "uuid": ("use an id like 0f8fad5b-d9cb-469f-a165-70867728950e", UUID),
    "email": ("use an address like ada@example.com", lambda text: text[text.index("@") :]),
}
_CHECKER = FormatChecker(formats=())


def _checks(name: str, read: Callable[[str], object]) -> None:
    def fits(value: object) -> bool:
        return not isinstance(value, str) or bool(read(value) is not None)

    _CHECKER.checks(name, raises=ValueError)(fits)


for _name, (_, _read) in _FORMATS.items():
    _checks(_name, _read)


def schema_faults(schema: Mapping[str, Any], value: Any) -> list[Fault]:
    """The first faults of a value, each path once, in the order of paths.

    Under a schema that is broken there is one: no value can be checked. Agents elsewhere and MCP
    servers bring schemas of their own.
    """
    results: dict[str, Fault] = {}
    try:
        for error in judge.errors_of(
            schema, value, limit=ERRORS_MAX, formats=_CHECKER, judge=_JUDGE
        ):
            for fault in _faults(error):
                results.setdefault(fault.path, fault)
            if len(results) >= SHOWN:
                break
    except BrokenSchema:
        return [Fault("$", "cannot be checked: its schema is broken")]
    return sorted(results.values(), key=lambda f: f.path)[:SHOWN]


def check_schema(schema: Mapping[str, Any], path: str) -> None:
    """Refuse a schema that somebody brings and by which no value could be judged: Invalid."""
    if (fault := broken_part(with_definitions(schema), path)) is not None:
        raise Invalid(fault.path, fault.message)


def _first_few(keyword: Any) -> Any:
    """A keyword that walks through a value and stops after SHOWN faults.

    Alternatives collect all faults of each way before they are shown: of a list of a million wrong
    items that would be a million of them.
    """

    def judged(*args: Any) -> Iterator[ValidationError]:
        yield from islice(keyword(*args) or (), SHOWN)

    return judged


def _unique(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """`uniqueItems` in linear time; the library compares each item with each other."""
    is_asked = wanted and isinstance(value, list)
    if is_asked and len({deltas.canonical(item) for item in value}) < len(value):
        yield ValidationError("holds the same item twice")


_WALKS = (
    *("items", "prefixItems", "properties", "additionalProperties", "patternProperties"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties", "dependentSchemas"),
)
_JUDGE = judge.with_keywords(
    {name: _first_few(judge.KEYWORDS[name]) for name in _WALKS} | {"uniqueItems": _unique}
)


def _faults(error: ValidationError) -> Iterator[Fault]:
    path = "$"
    for key in error.absolute_path:
        path = deltas.at(path, key)
    instance: Any = error.instance
    kind, wanted = error.validator, error.validator_value
    if isinstance(error.schema, Mapping) and isinstance(error.schema.get(OWN_WORDS), str):
        yield Fault(path, clip(error.schema[OWN_WORDS], MESSAGE_CHARS))
    elif kind == "required" and isinstance(instance, dict):
        for name in wanted:
            if name not in instance:
                yield Fault(deltas.at(path, name), "is required")
    elif kind == "dependentRequired" and isinstance(instance, dict):
        for first, names in wanted.items():
            for name in names if first in instance else ():
                if name not in instance:
                    yield Fault(deltas.at(path, name), f"is required together with {first}")
    elif kind == "additionalProperties" and isinstance(instance, dict):
        for name in _extras(error.schema, instance):
            yield Fault(deltas.at(path, name), "is not known here")
    elif kind in ("anyOf", "oneOf") and error.context:
        yield from _alternatives(error, path)
    else:
        yield Fault(path, _message(error))


def _extras(schema: Any, instance: Mapping[str, Any]) -> list[str]:
    """Members that an object may not have; those of a pattern cannot be distinguished here."""
    known = schema.get("properties") or {}
    extras = [name for name in instance if name not in known]
    return extras[:SHOWN]


def _alternatives(error: ValidationError, path: str) -> Iterator[Fault]:
    """The faults under the alternative that the value's type meant, else all types it could be."""
    by_alternative: dict[Any, list[ValidationError]] = {}
    types: list[str] = []
    for inner in error.context or ():
        by_alternative.setdefault(inner.schema_path[0], []).append(inner)
    for key, faults in list(by_alternative.items()):
        own = [f for f in faults if f.validator == "type" and not f.relative_path]
        if own:
            del by_alternative[key]
            wanted = own[0].validator_value
            types += [wanted] if isinstance(wanted, str) else wanted
    if by_alternative:
        for inner in min(by_alternative.values(), key=len):
            yield from _faults(inner)
    else:
        yield Fault(path, _wrong_type(types, error.instance))


_NOUNS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
}
_COUNTS = {
    "minLength": ("needs at least {}", "character"),
    "maxLength": ("may have at most {}", "character"),
    "minItems": ("needs at least {}", "item"),
    "maxItems": ("may have at most {}", "item"),
    "minProperties": ("needs at least {}", "member"),
    "maxProperties": ("may have at most {}", "member"),
}
_SENTENCES = {
    "uniqueItems": "holds the same item twice",
    "contains": "has no item of the kind that is needed",
    "minContains": "has too few items of the kind that is needed",
    "maxContains": "has too many items of one kind",
    "items": "has more items than are known here",
    "unevaluatedItems": "has more items than are known here",
    "unevaluatedProperties": "has members that are not known here",
    "not": "has a value that is not allowed",
    "oneOf": "fits more than one of the forms that are allowed; it must fit exactly one",
    "anyOf": "fits none of the forms that are allowed",
}
NOT_ALLOWED = "is not allowed here"


def _message(error: ValidationError) -> str:
    kind, wanted = str(error.validator), error.validator_value
    words = _words(kind, wanted, error)
    if "propertyNames" in error.absolute_schema_path:
        return clip(f"has the name {_shown(error.instance)}, which {words}", MESSAGE_CHARS)
    return clip(words, MESSAGE_CHARS)


def _words(kind: str, wanted: Any, error: ValidationError) -> str:
    if kind == "type":
        return _wrong_type([wanted] if isinstance(wanted, str) else wanted, error.instance)
    if kind in _LIMITS:
        return _LIMITS[kind].format(wanted)
    if kind in ("minLength", "minItems", "minProperties") and not error.instance:
        return "must not be empty"
    if kind in _COUNTS:
        words, noun = _COUNTS[kind]
        return words.format(f"{wanted} {noun}{'' if wanted == 1 else 's'}")
    if kind == "pattern":
        return described(wanted, error.schema if isinstance(error.schema, Mapping) else {})
    if kind == "format":
        return _FORMATS[wanted][0]
    if kind == "enum":
        return f"must be one of {', '.join(map(_shown, wanted))}"
    if kind == "const":
        return f"must be {_shown(wanted)}"
    return _SENTENCES.get(kind, NOT_ALLOWED)


def _wrong_type(types: Iterable[str], value: Any) -> str:
    nouns = dict.fromkeys(_NOUNS.get(t, t) for t in types)
    return f"must be {' or '.join(nouns)}, not {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return clip(deltas.canonical(value).decode(), 60)


_PREDICATES = ("is ", "must ", "needs ", "may ", "has ", "holds ", "fits ")


def sentence(message: str) -> str:
    """A message as a sentence of its own, as it stands beside its input."""
    if message.startswith(_PREDICATES):
        message = f"This {message}"
    text = message[:1].upper() + message[1:]
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def inside(inner: str, message: str) -> str:
    """A message about a value that lies inside of an input, as a sentence."""
    if not inner:
        return sentence(message)
    return (
        sentence(f"Item {inner[5:]}: {message}")
        if inner.startswith("item ")
        else (f"{inner}: {message}{'' if message.endswith('.') else '.'}")
    )


_PART = re.compile(r'\.([^.\[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def location(path: str) -> tuple[str, str]:
    """(input, where inside it): `$.lines[2].amount` is ("lines", "item 3, amount")."""
    parts = [int(part[2]) if part[2] else part[1] or part[3] or "" for part in _PART.finditer(path)]
    inner = [f"item {part + 1}" if isinstance(part, int) else part for part in parts[1:]]
    if len(inner) > DEEPEST:
        inner = [*inner[:2], "…", inner[-1]]
    return str(parts[0]) if parts else "", ", ".join(inner)


def named(fault: Fault) -> str:
    """A fault as a sentence of its own where no input stands beside it."""
    name, inner = location(fault.path)
    if not name or fault.message[:1].isupper():
        return sentence(fault.message)
    return f"{name}: {inside(inner, fault.message)}"


def beside(fault: Fault) -> tuple[str, str]:
    """(input, sentence) of a fault as a form shows it."""
    name, inner = location(fault.path)
    return name, inside(inner, fault.message)
