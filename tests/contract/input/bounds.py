"""Values on and beyond what a JSON Schema of the OpenAPI document allows, and where they go."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any
from uuid import UUID

from tests.contract.operations import document

SOME = 2  # of each kind of value: one sweep sees each kind many times
type Keys = tuple[str | int, ...]
# One of each JSON type; which of them a schema takes says its `type`.
TYPES: tuple[tuple[str, Any], ...] = (
    ("string", "7"),
    ("integer", 7),
    ("number", 7.5),
    ("boolean", True),
    ("array", []),
    ("object", {}),
)
# Texts, one of which some pattern refuses and another takes.
_WORDS = """
x 1 0.000001 111111111111 1111111111111 1.0000001 -1 1e3 NaN ٣ é * "7" W/"7" "7 "seven"
queued queued,failed queued, nobody key:value :value key , a,b a,
"""
TEXTS = (" ", "\t\n", "a key", *_WORDS.split())


@dataclass(frozen=True)
class Member:
    """A place in a body with what its schema says; `way` leads there from the root."""

    keys: Keys
    schema: dict[str, Any]
    nullable: bool

    @property
    def name(self) -> str:
        """How lists of exceptions call it: `draft.terms.stages[].count`."""
        return "".join("[]" if isinstance(key, int) else f".{key}" for key in self.keys).lstrip(".")


def resolved(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """(schema without references, of a choice with null the other; whether null is taken)."""
    if "$ref" in schema:
        return resolved(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if isinstance(schema.get("type"), list):
        (kind,) = (one for one in schema["type"] if one != "null")
        return {**schema, "type": kind}, "null" in schema["type"]
    for word in ("anyOf", "allOf", "oneOf"):
        if word in schema:
            choices = [resolved(one)[0] for one in schema[word]]
            some = [one for one in choices if one.get("type") != "null"]
            if words := [value for one in some for value in one.get("enum", ())]:
                return {"type": "string", "enum": words}, len(some) < len(choices)
            assert len(some) == 1, schema
            return some[0], len(some) < len(choices)
    return schema, "type" not in schema


def members(schema: dict[str, Any], keys: Keys = ()) -> Iterator[Member]:
    """Each member of a body, and those within it; of a list its first item."""
    inner: dict[str | int, Any] = dict(schema.get("properties", {}))
    if schema.get("type") == "array" and schema.get("items"):
        inner = {0: schema["items"]}
    for key, part in inner.items():
        result, nullable = resolved(part)
        yield Member((*keys, key), result, nullable)
        yield from members(result, (*keys, key))


def text_of(schema: dict[str, Any], length: int) -> str | None:
    """A text of this length that fits the pattern, or None."""
    fitting = (letter * length for letter in "x1")
    return next((text for text in fitting if fits(schema, text)), None)


def fits(schema: dict[str, Any], text: str) -> bool:
    """Whether a text has the length and the pattern that the schema states."""
    low, high = schema.get("minLength", 0), schema.get("maxLength", len(text))
    return low <= len(text) <= high and bool(re.search(schema.get("pattern", ""), text))


def sample(schema: dict[str, Any], number: int = 0) -> Any:
    """Some value that the schema allows, another for each number where it knows that many."""
    schema, _ = resolved(schema)
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if schema.get("format") == "uuid":
        return str(UUID(int=number + 1))
    match schema.get("type"):
        case "integer" | "number":
            return schema.get("minimum", 0) + number
        case "boolean":
            return True
        case "array":
            return [sample(schema["items"], i) for i in range(schema.get("minItems", 0))]
        case "object":
            return {n: sample(schema["properties"][n]) for n in schema.get("required", ())}
    return f"x{number}"


def inside(member: Member) -> Iterator[Any]:
    """Values on the bounds, null where it is allowed."""
    schema = member.schema
    if member.nullable:
        yield None
    yield from schema.get("enum", ())
    yield from (schema[word] for word in ("minimum", "maximum") if word in schema)
    kind = schema.get("type")
    if kind == "boolean":
        yield from (True, False)
    elif kind == "string" and not {"enum", "format"} & schema.keys():
        lengths = {schema.get("minLength", 0), schema.get("maxLength", 1)}
        yield from (t for n in sorted(lengths) if (t := text_of(schema, n)) is not None)
        if "pattern" in schema:
            yield from islice((text for text in TEXTS if fits(schema, text)), SOME)
    elif kind == "array":
        for n in {schema.get("minItems", 0), schema.get("maxItems", 1)}:
            yield [sample(schema["items"], i) for i in range(n)]
    elif kind == "object" and "properties" not in schema:
        yield {}
        values = schema.get("additionalProperties")
        words = (*schema.get("patternProperties", {}).values(), values)
        known = next((one for one in words if isinstance(one, dict)), {"type": "string"})
        value = sample(known)
        if "maxProperties" in schema:
            yield {f"k{i}": value for i in range(schema["maxProperties"])}
        if keys := schema.get("propertyNames"):
            yield from ({"k" * keys[word]: value} for word in ("minLength", "maxLength"))
        if isinstance(values, dict) and "maxLength" in values:
            yield {"k": "v" * values["maxLength"]}


def outside(member: Member, *, typed: bool = True) -> Iterator[Any]:
    """Values that the document forbids; `typed`: such of another type, too."""
    schema, kind = member.schema, member.schema.get("type")
    if typed and kind is not None:
        allowed = {kind, "integer"} if kind == "number" else {kind}
        others = [value for name, value in TYPES if name not in allowed]
        yield from Random(str(member.keys)).sample(others, SOME)  # the same in every run
        if not member.nullable:
            yield None
    if "enum" in schema:
        yield "no-such-word"
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if not typed and kind in ("integer", "number"):
        yield from ("no-such-number", "1.5")
    if schema.get("format") == "uuid":
        yield from ("no-such-id", UUID(int=1).hex, f"{{{UUID(int=1)}}}")
    if schema.get("minLength"):
        yield "x" * (schema["minLength"] - 1)
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        unfit = (text for text in TEXTS if not re.search(schema["pattern"], text))
        yield from islice(unfit, SOME)
    if kind == "array":
        if schema.get("minItems"):
            yield []
        if "maxItems" in schema:
            yield [sample(schema["items"], i) for i in range(schema["maxItems"] + 1)]
        if schema.get("uniqueItems"):
            yield [sample(schema["items"])] * 2
    if kind == "object":
        if "maxProperties" in schema:
            yield {f"k{i}": "v" for i in range(schema["maxProperties"] + 1)}
        if keys := schema.get("propertyNames"):
            yield from ({key: "v"} for key in ("", " ", "k" * (keys["maxLength"] + 1)))
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            yield from ({"k": value} for value in outside(Member((), *resolved(values))))


def put(body: Any, keys: Keys, value: Any) -> Any:
    """The body with another value at a place; what leads there is made where it is missing."""
    made = value_at = copy.deepcopy(body)
    for key, after in itertools.pairwise(keys):
        wanted: Any = [] if isinstance(after, int) else {}
        if isinstance(value_at, list):
            value_at.extend([wanted] * (int(key) + 1 - len(value_at)))
        elif not isinstance(value_at.get(key), type(wanted)):
            value_at[key] = wanted
        value_at = value_at[key]
    if isinstance(value_at, list):
        value_at[int(keys[-1]) :] = [value]
    else:
        value_at[keys[-1]] = value
    return made


def dropped(body: Any, keys: Keys) -> Any:
    """The body without a member; as it is where it has none."""
    made = value_at = copy.deepcopy(body)
    for key in keys[:-1]:
        try:
            value_at = value_at[key]
        except (KeyError, IndexError):
            return made
    if isinstance(value_at, dict):
        value_at.pop(keys[-1], None)
    return made


def path_of(keys: Keys) -> str:
    """A place as a JSON path."""
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)


_STEP = re.compile(r'\.([A-Za-z_]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def stands_in(path: str, body: Any) -> bool:
    """Whether a JSON path names a place in a body, or a member that an object there lacks."""
    at = 1
    if not path.startswith("$"):
        return False
    value_at = body
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return "..." in path[at:] or path.endswith("…")  # what is long is shown shortened
        at = step.end()
        if step[2] is not None:
            if not isinstance(value_at, list) or int(step[2]) >= len(value_at):
                return False
            value_at = value_at[int(step[2])]
            continue
        key = step[1] if step[1] is not None else json.loads(f'"{step[3]}"')
        if not isinstance(value_at, dict):
            return False
        if key not in value_at:
            return at == len(path) or key.endswith("...")
        value_at = value_at[key]
    return True
