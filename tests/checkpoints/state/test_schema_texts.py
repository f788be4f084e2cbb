"""JSON Schemas as data."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from checkpoints.state.schema_texts import with_definitions

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
