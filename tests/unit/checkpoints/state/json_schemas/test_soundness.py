"""Schemas that others wrote: a broken part is named, a sound one judges within bounds."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from checkpoints.state.json_schemas.errors import errors_of
from checkpoints.state.json_schemas.soundness import BrokenSchema, broken_part
from gatepost_agents.market_research import agent as market_research
from gatepost_agents.payments import agent as payments
from tests.unit.dashboard.approvals.test_edit_preview import BROKEN

# Without bounds each of them takes years.
SECONDS = 120.0
WHERE = {
    "dangling": '$.properties.note["$ref"]',
    "elsewhere": '$.properties.note["$ref"]',
    "endless": '$.properties.note["$ref"]',
    "reference": '$.properties.note["$ref"]',
    "type": "$.properties.note.type",
    "unknown type": "$.properties.note.type",
    "pattern": "$.properties.note.pattern",
    "length": "$.properties.note.minLength",
    "choices": "$.properties.note.enum",
    "items": "$.properties.lines.items",
    "definitions": '$.properties.note["$defs"]',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_each_kind_of_broken_schema_is_named_with_its_path(kind: str) -> None:
    fault = broken_part({"type": "object", "properties": BROKEN[kind]})
    assert fault is not None
    assert fault.path == WHERE[kind]
    assert fault.message


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"not": {"$ref": "#"}}, '$.not["$ref"]'),
        ({"allOf": [{"anyOf": [{"$ref": "#/allOf/0"}]}]}, '$.allOf[0].anyOf[0]["$ref"]'),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, ""),
        ({"properties": {"a": {"pattern": "^(a+)+(?=b)"}}}, "$.properties.a.pattern"),
        ({"patternProperties": {"(": True}}, "$.patternProperties"),
        ({"patternProperties": {"a": True}, "unevaluatedProperties": False}, "$"),
        ({"$defs": {"a": {"$id": "https://schemas.example/a"}}}, '$["$defs"].a["$id"]'),
        ({"items": {"$dynamicRef": "#a"}}, '$.items["$dynamicRef"]'),
        ({"x-parts": {"a": {"type": "text"}}, "items": {"$ref": "#/x-parts/a"}}, ""),
        ({"items": {"$ref": "#/required"}, "required": ["a"]}, '$.items["$ref"]'),
        ({"properties": {"a b": {"required": True}}}, '$.properties["a b"].required'),
        ({"oneOf": []}, "$.oneOf"),
        ([], "$"),
    ],
)
def test_what_could_be_followed_for_ever_or_leads_elsewhere_is_named(
    schema: Any, path: str
) -> None:
    fault = broken_part(schema)
    assert fault is not None
    assert not path or fault.path == path


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": False},
        {"$defs": {"Tree": {"properties": {"below": {"items": {"$ref": "#/$defs/Tree"}}}}}},
        {"properties": {"node": {"$ref": "#"}, "$ref": {"type": "string"}}},
        {
            "definitions": {"a/b": {"type": ["string", "null"]}},
            "items": {"$ref": "#/definitions/a~1b"},
        },
        {
            "enum": [{"type": 5}],
            "const": {"pattern": "("},
            "default": {"$ref": 7},
            "x-order": ["a"],
        },
        {"pattern": "^(?=.*[A-Z]).{8,}$", "$id": "https://schemas.example/root.json"},
    ],
)
def test_sound_ones_are_taken(schema: Any) -> None:
    assert broken_part(schema) is None


def test_those_of_shipped_agents_are_sound() -> None:
    for agent in (market_research, payments):
        assert broken_part(agent.graph.state.model_json_schema()) is None


def _deep(n: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(n):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{}] * 20_000},
        {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
         | {"d40": {"minLength": 50}}, "$ref": "#/$defs/d0"},
        {"properties": {f"p{n}": {"pattern": rf"\w{{15}}{n}"} for n in range(9_000)}},
        {"allOf": [{"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$"}]},
        {"anyOf": [{"$schema": "http://json-schema.org/draft-04/schema#", "pattern": "^(a+)+$"}]},
        {"$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5_000)}
         | {"d5000": {}}, "$ref": "#/$defs/d0"},
        {"unevaluatedProperties": False, "allOf": [{"patternProperties": {"^(a+)+$": True}}]},
        _deep(300),
    ],
    ids=["wide", "doubling", "expressions", "draft 7", "draft 4", "chain", "names", "deep"],
)  # fmt: skip
def test_none_is_followed_without_bounds(schema: dict[str, Any]) -> None:
    began = time.perf_counter()
    broken_part(schema)
    for value in ("a" * 40 + "!", {"a" * 40 + "!": 1, "p1": "a"}, [[[1]]]):
        try:
            errors_of(schema, value, limit=5)
        except BrokenSchema:
            pass
    assert time.perf_counter() - began < SECONDS


NAMES = st.sampled_from(["a", "b", "type", "$ref"])
SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.just({}),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/c", "b", 1])}),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "text", 5, [], ["null"]])}),
        st.fixed_dictionaries({"minLength": st.sampled_from([0, -1, "x", 2.0, 1.5])}),
        st.fixed_dictionaries({"pattern": st.sampled_from(["a", "(", 3])}),
        st.fixed_dictionaries({"enum": st.sampled_from([[1], 3, []])}),
        st.fixed_dictionaries({"required": st.sampled_from([["a"], [1], True])}),
        st.sampled_from([3, None, "x", []]),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"items": inner, "$defs": st.dictionaries(NAMES, inner, max_size=2)}),
        st.fixed_dictionaries({"not": inner, "additionalProperties": inner}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 2.5, "", "a", "ab"]),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
@settings(max_examples=400, deadline=None)
def test_a_sound_one_judges_any_value_as_the_draft_does(schema: Any, value: Any) -> None:
    fault = broken_part(schema)
    if not isinstance(schema, bool | dict):
        assert fault is not None
        return
    if fault is None:
        Draft202012Validator.check_schema(schema)
        results = errors_of(schema, value, limit=100)
        judged = Draft202012Validator(schema).iter_errors(value)
        assert {error.json_path for error in results} == {error.json_path for error in judged}
        return
    # What a broken one meets is told as such, or it is never met.
    try:
        errors_of(schema, value, limit=100)
    except BrokenSchema:
        pass
