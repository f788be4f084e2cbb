"""Every bound of the document is the server's: what lies on it is taken, what lies beyond refused.

Generated from the document for all calls: types, enums, formats, least and most, required members
and unknown ones, of parameters and of bodies.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from .calls import Call, World, document, example, operations, send, taken_back

# (call, place): why a value on the document's bound is refused for another member's sake.
DEPENDS = {
    ("approvals_list", "mine"): "goes with the status pending",
    ("approvals_decide", "what_next"): "goes with a rejection",
    ("threads_cancel", "undo_unknown"): "goes with undo",
    ("policies_make", "condition"): "is CEL",
    ("policies_try", "condition"): "is CEL",
    ("policies_change", "draft.condition"): "is CEL",
    ("policies_make", "terms.on_expiry"): "needs a deadline or others who are asked",
    ("policies_change", "draft.terms.on_expiry"): "needs a deadline or others who are asked",
}
REFUSED = (400, 422)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references; of a choice between it and null, itself."""
    if "$ref" in schema:
        return resolved(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for word in ("anyOf", "allOf", "oneOf"):
        choices = [resolved(one) for one in schema.get(word, ())]
        if enums := [value for one in choices for value in one.get("enum", ())]:
            return {"type": "string", "enum": enums}
        some = [one for one in choices if one.get("type") != "null"]
        if len(some) == 1:
            return some[0]
    return schema


def on(schema: dict[str, Any]) -> Iterator[Any]:
    """Values on the bounds."""
    yield from schema.get("enum", ())
    for word in ("minimum", "maximum"):
        if word in schema:
            yield schema[word]
    for word in ("minLength", "maxLength"):
        if word in schema and schema.get("format") is None:
            yield "x" * schema[word]
    if schema.get("type") == "boolean":
        yield from (True, False)


def beyond(schema: dict[str, Any], *, typed: bool) -> Iterator[Any]:
    """Values that the document forbids; `typed`: of another type, too."""
    kind = schema.get("type")
    if "enum" in schema:
        yield "no-such-word"
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1
    if schema.get("minLength"):
        yield "x" * (schema["minLength"] - 1)
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if schema.get("format") == "uuid" or kind in ("integer", "number", "boolean"):
        yield "no-such-value"
    if typed and kind in ("string", "array", "object", "integer", "number"):
        yield True if kind != "string" else 7
    if typed and kind == "array":
        yield from ([None] * (schema["maxItems"] + 1) for _ in range("maxItems" in schema))


def members(schema: dict[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """(way, schema) of each member of a body, and of those within it."""
    for name, inner in schema.get("properties", {}).items():
        found = resolved(inner)
        yield (*at, name), found
        yield from members(found, (*at, name))


def put(body: Any, way: tuple[str, ...], value: Any) -> Any:
    """The body with another value at a place."""
    made = place = copy.deepcopy(body)
    for name in way[:-1]:
        if not isinstance(place.get(name), dict):
            place[name] = {}
        place = place[name]
    place[way[-1]] = value
    return made


def faults(answer: Any) -> list[str]:
    """The places that an answer refuses; empty where it refuses none."""
    if answer.status_code not in REFUSED:
        return []
    told = answer.json()
    return [str(told["path"]), *(one["path"] for one in told.get("errors", ()))]


@pytest.mark.parametrize("name", sorted(operations()))
def test_parameters(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])
    for parameter in operation.spec.get("parameters", ()):
        key, schema = parameter["name"], resolved(parameter["schema"])
        if parameter["in"] == "path":
            continue

        def answer(value: Any, where: str = parameter["in"], key: str = key) -> Any:
            sent = str(value).lower() if isinstance(value, bool) else str(value)
            with taken_back():
                if where == "header":
                    return send(client, operation, call, **{key: sent})
                return send(client, operation, call.but(query={**call.query, key: sent}))

        for value in on(schema) if (name, key) not in DEPENDS else ():
            assert key not in faults(answer(value)), (key, value)
        for value in beyond(schema, typed=False):
            if value == "":  # an empty parameter is one that is missing
                continue
            assert answer(value).status_code in REFUSED, (key, value)
        if parameter.get("required"):
            rest = {k: v for k, v in call.query.items() if k != key}
            assert send(client, operation, call.but(query=rest)).status_code in REFUSED, key


@pytest.mark.parametrize(
    "name", [n for n, o in sorted(operations().items()) if o.body_type == "application/json"]
)
def test_bodies(world: World, name: str) -> None:
    operation, call = operations()[name], example(world, operations()[name])
    client = world.cast.client(call.who[0])
    whole = resolved(operation.spec["requestBody"]["content"]["application/json"]["schema"])
    many = whole.get("type") == "array"
    schema = resolved(whole["items"]) if many else whole
    body: Any = call.body[0] if many and isinstance(call.body, list) else call.body

    def answer(sent: Any) -> Any:
        with taken_back():
            return send(client, operation, plain(call, [sent] if many else sent))

    for way, inner in members(schema):
        path = ("$[0]." if many else "$.") + ".".join(way)
        if (name, ".".join(way)) not in DEPENDS:
            for value in on(inner):
                assert path not in faults(answer(put(body, way, value))), (way, value)
        for value in beyond(inner, typed=True):
            assert answer(put(body, way, value)).status_code in REFUSED, (way, value)
        if inner.get("additionalProperties") is False:
            assert answer(put(body, (*way, "unknown"), 1)).status_code in REFUSED, way
    assert answer({**body, "unknown": 1}).status_code in REFUSED
    for required in schema.get("required", ()):
        rest = {k: v for k, v in body.items() if k != required}
        assert answer(rest).status_code in REFUSED, required


def plain(call: Call, body: Any) -> Call:
    """The call with another body."""
    return call.but(body=body)
