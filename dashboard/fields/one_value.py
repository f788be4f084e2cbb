"""The form of one value by its JSON Schema, which a person gives: an answer, a signal's value.

The members of an object are an input each. Another value is one input, and so is an object of
which inputs for its members cannot say everything: that one is written as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from checkpoints.state.list_keys import resolve

from . import form as fields
from .inputs import reading_of
from .shapes import Field

# Parts of a schema that may name members of their own.
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_BRANCHES: Final = ("if", "then", "else")


def value_fields(
    schema: Any,
    name: str,
    label: str,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[Field]:
    """Inputs for a value; one that is not given by members is called `name`."""
    whole = _whole(schema, name)
    built = fields.build(
        whole,
        _suggested(whole),
        posted=_as_posted(posted or {}, name),
        errors=errors,
        compare=False,
        omittable=True,
    )
    if has_members(schema):
        return built
    title = schema.get("title") if isinstance(schema, Mapping) else ""
    return [replace(built[0], name=name, label=str(title or label))]


def read_value(schema: Any, name: str, posted: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """(the value, {input: problem}); what was left out or never chosen is not in it."""
    whole = _whole(schema, name)
    opened = _suggested(whole)
    changes, problems = fields.parse(whole, opened, _as_posted(posted, name), omittable=True)
    value = fields.without_absent(opened | changes)
    if not has_members(schema):
        return value.get(name), problems
    return {
        channel: value[channel] for channel in fields.channels(whole) if channel in value
    }, problems


def has_members(schema: Any) -> bool:
    """True if the members that the schema names are all that such a value can need."""
    if not isinstance(schema, Mapping) or not schema.get("properties"):
        return False
    others = schema.get("additionalProperties", False) or schema.get("patternProperties")
    kind = schema.get("type", "object")
    return kind == "object" and not others and {*_named(schema)} <= schema["properties"].keys()


def _named(schema: Any) -> Iterator[str]:
    """The members that a schema names anywhere for the value itself."""
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        yield "$ref"  # what it leads to is not looked at: the value is written as JSON
    yield from schema.get("properties") or ()
    yield from schema.get("required") or ()
    for key in _LISTS:
        for part in schema.get(key) or ():
            yield from _named(part)
    for key in _BRANCHES:
        yield from _named(schema.get(key))


def _whole(schema: Any, name: str) -> Mapping[str, Any]:
    """The schema of an object: that of one value as its only member."""
    if has_members(schema):
        whole: Mapping[str, Any] = schema
        return whole
    one = schema if isinstance(schema, Mapping) else {}
    part = {key: value for key, value in one.items() if key != "$defs"}
    needed = [name] if part else []
    return {"properties": {name: part}, "required": needed, "$defs": one.get("$defs", {})}


def _as_posted(posted: Mapping[str, str], name: str) -> dict[str, str]:
    texts = dict(posted)
    if name in texts:
        texts.setdefault(fields.PREFIX + name, texts[name])
    return texts


def _suggested(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Values that the author fills in for a person to see; a yes or no is the person's alone."""
    results = {}
    for name, raw in schema["properties"].items():
        if not isinstance(raw, Mapping):
            continue
        part, _ = resolve(raw, schema)
        value = raw.get("default", part.get("default", fields.ABSENT))
        # An empty one looks like an input that nobody filled in.
        if not reading_of(value) and not isinstance(value, bool):
            results[name] = value
    return results
