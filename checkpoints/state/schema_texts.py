"""JSON Schemas as data: without descriptions, and with definitions where `$ref` looks; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_BY_NAME: Final = ("properties", "$defs", "patternProperties")
_SCHEMAS: Final = ("items", "additionalProperties", "anyOf", "allOf", "oneOf", "prefixItems", "not")


def without_descriptions(schema: Any) -> Any:
    """The schema without descriptions; a property of that name, and data in it, stay."""
    if isinstance(schema, list):
        return [without_descriptions(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    results: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _BY_NAME and isinstance(value, Mapping):
            results[name] = {key: without_descriptions(part) for key, part in value.items()}
        elif name in _SCHEMAS:
            results[name] = without_descriptions(value)
        elif name != "description":
            results[name] = value
    return results


def with_definitions(schema: Any) -> Any:
    """The schema with the definitions that its properties brought at its top, where `$ref` looks.

    The schema of a tool is made of those of its arguments, each with definitions of its own.
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return schema
    brought: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for name, part in properties.items():
        own = part.get("$defs") if isinstance(part, Mapping) else None
        if isinstance(own, Mapping):
            brought |= own
            part = {key: value for key, value in part.items() if key != "$defs"}
        parts[name] = part
    if not brought:
        return schema
    return {**schema, "properties": parts, "$defs": {**brought, **schema.get("$defs", {})}}


def with_order(schema: Any) -> Any:
    """The schema with the order of its members as `x-order`, at every level that has some.

    PostgreSQL keeps no order of keys. One that names an order already keeps it.
    """
    if isinstance(schema, list):
        return [with_order(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    results: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _BY_NAME and isinstance(value, Mapping):
            results[name] = {key: with_order(part) for key, part in value.items()}
        else:
            results[name] = with_order(value) if name in _SCHEMAS else value
    members = schema.get("properties")
    if isinstance(members, Mapping) and len(members) > 1:
        results.setdefault("x-order", list(members))
    return results
