"""A JSON Schema without its descriptions, which are made of docstrings; pure."""

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
