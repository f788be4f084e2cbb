"""JSON Schemas as data."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from checkpoints.state.schema_texts import with_definitions, with_order

LINE = {"type": "object", "properties": {"amount": {"type": "string"}}, "required": ["amount"]}


def of_arguments(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


def test_definitions_of_arguments_stand_where_references_look() -> None:
    lines = {"type": "array", "items": {"$ref": "#/$defs/Line"}, "$defs": {"Line": LINE}}
    schema = with_definitions(of_arguments(lines=lines, note={"type": "string"}))
    assert schema["$defs"] == {"Line": LINE}
    assert "$defs" not in schema["properties"]["lines"]
    jsonschema.validate({"lines": [{"amount": "1"}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"lines": [{}]}, schema)
    assert "$defs" in lines, "the schema of before is left as it is"
    assert with_definitions(schema) == schema


@pytest.mark.parametrize(
    "schema",
    [None, True, [], {}, {"properties": 7}, {"properties": {"a": True, "b": {"$defs": 3}}}],
)
def test_what_brings_none_stays(schema: Any) -> None:
    assert with_definitions(schema) == schema


def test_the_author_s_order_stands_at_every_level_and_data_stays_as_it_is() -> None:
    line = {"type": "object", "properties": {"to": {}, "amount": {}, "b": {}}}
    schema = {
        "properties": {"when": {}, "lines": {"type": "array", "items": line}, "day": {}},
        "$defs": {"Line": line},
        "default": {"properties": {"z": 1, "a": 2}},
        "x-own": line,
    }
    ordered = with_order(schema)
    assert ordered["x-order"] == ["when", "lines", "day"]
    assert ordered["properties"]["lines"]["items"]["x-order"] == ["to", "amount", "b"]
    assert ordered["$defs"]["Line"]["x-order"] == ["to", "amount", "b"]
    assert ordered["default"] == schema["default"]
    assert ordered["x-own"] == line
    assert with_order({**schema, "x-order": ["day"]})["x-order"] == ["day"]
    assert "x-order" not in schema
