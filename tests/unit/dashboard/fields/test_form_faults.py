"""Each fault of a form is shown once, beside its input, in words; the summary counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from checkpoints import store
from dashboard.fields import form as fields
from dashboard.fields import patterns
from dashboard.fields.faults import location, schema_faults, sentence
from dashboard.html.templatetags.gatepost_forms import BESIDE
from tests.support.cast import Cast
from tests.unit.dashboard import scene

DAY = r"^(\d{4}-\d{2}-\d{2})?$"
# keyword: (schema of a channel, what is posted, words beside it). One for each keyword of the
# vocabulary that can refuse a value; test_no_keyword_is_left_out compares it with the validator's.
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "type": ({"type": "integer"}, "many", "“many” is not a whole number."),
    "enum": ({"enum": ["a", "b"]}, '"c"', 'This must be one of "a", "b".'),
    "const": ({"properties": {"x": {"const": 1}}}, '{"x": 2}', "x: must be 1."),
    "minimum": ({"type": "integer", "minimum": 3}, "2", "This must be at least 3."),
    "maximum": ({"type": "number", "maximum": 1}, "2", "This must be at most 1."),
    "exclusiveMinimum": ({"type": "number", "exclusiveMinimum": 0}, "0", "must be more than 0."),
    "exclusiveMaximum": ({"type": "number", "exclusiveMaximum": 9}, "9", "must be less than 9."),
    "multipleOf": ({"type": "integer", "multipleOf": 5}, "7", "must be a multiple of 5."),
    "minLength": ({"type": "string", "minLength": 3}, "ab", "needs at least 3 characters."),
    "maxLength": ({"type": "string", "maxLength": 1}, "ab", "may have at most 1 character."),
    "pattern": ({"type": "string", "pattern": DAY}, "31.11.2026", "Use a date like 2026-11-30."),
    "format": ({"type": "string", "format": "date"}, "soon", "Use a date like 2026-11-30."),
    "minItems": ({"type": "array", "minItems": 2}, "[1]", "needs at least 2 items."),
    "maxItems": ({"type": "array", "maxItems": 1}, "[1, 2]", "may have at most 1 item."),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, "[1, 1]", "same item twice."),
    "contains": ({"type": "array", "contains": {"const": 1}}, "[2]", "has no item of the kind"),
    "items": ({"type": "array", "items": {"minimum": 1}}, "[3, 0]", "Item 2: must be at least 1."),
    "prefixItems": ({"type": "array", "prefixItems": [{"minimum": 1}]}, "[0]", "Item 1: must be"),
    "unevaluatedItems": (
        {"type": "array", "prefixItems": [True], "unevaluatedItems": False}, "[1, 2]", "more items",
    ),
    "properties": (
        {"type": "object", "properties": {"a b": {"minimum": 1}}}, '{"a b": 0}', "a b: must be at",
    ),
    "required": ({"type": "object", "required": ["to"]}, "{}", "to: is required."),
    "dependentRequired": (
        {"type": "object", "dependentRequired": {"a": ["b"]}}, '{"a": 1}',
        "b: is required together with a.",
    ),
    "dependentSchemas": (
        {"type": "object", "dependentSchemas": {"a": {"required": ["c"]}}}, '{"a": 1}',
        "c: is required.",
    ),
    "additionalProperties": (
        {"type": "object", "additionalProperties": False}, '{"odd": 1}', "odd: is not known here.",
    ),
    "unevaluatedProperties": (
        {"type": "object", "unevaluatedProperties": False}, '{"odd": 1}', "members that are not",
    ),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^n": {"minimum": 1}}}, '{"n1": 0}',
        "n1: must be at least 1.",
    ),
    "propertyNames": (
        {"type": "object", "propertyNames": {"maxLength": 2}}, '{"long": 1}',
        'has the name "long", which may have at most 2 characters.',
    ),
    "minProperties": ({"type": "object", "minProperties": 1}, "{}", "must not be empty."),
    "maxProperties": (
        {"type": "object", "maxProperties": 1}, '{"a": 1, "b": 2}', "may have at most 1 member.",
    ),
    "not": ({"not": {"const": 1}}, "1", "has a value that is not allowed."),
    "anyOf": (
        {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, '"x"', "a whole number or true or",
    ),
    "oneOf": ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, "3", "must fit exactly one."),
    "allOf": ({"allOf": [{"minimum": 1}]}, "0", "This must be at least 1."),
    "if": ({"if": {"minimum": 5}, "then": {"maximum": 6}}, "7", "This must be at most 6."),
    "$ref": ({"$ref": "#/$defs/Day"}, "soon", "Use a date like 2026-11-30."),
    "$dynamicRef": ({"$dynamicRef": "#day"}, '"soon"', "Use a date like 2026-11-30."),
    "x-message": (
        {"type": "string", "maxLength": 2, "x-message": "use a code"}, "xyz", "Use a code.",
    ),
}  # fmt: skip
DEFS = {"Day": {"$dynamicAnchor": "day", "type": "string", "pattern": DAY}}
RAW = re.compile(r"\\|\^|\$|\(\?|Traceback|is not of type|does not match|was unexpected|line 1 col")


def _schema(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": {"title": "Value", **part}}, "$defs": DEFS}


def test_a_number_is_kept_as_it_was_written_or_refused() -> None:
    for part, text, value in (
        ({"type": "number"}, "1.2345678901234567890123", None),
        ({"type": "number"}, "9007199254740993.5", None),
        ({"items": {"type": "number"}, "type": "array"}, "[0.10000000000000001]", None),
        ({"type": "number"}, "0.10", 0.1),
    ):
        changes, errors = fields.parse(_schema(part), {}, {"f-value": text})
        assert changes == ({} if value is None else {"value": value})
        assert ("more digits" in errors.get("value", "")) == (value is None), errors


@pytest.mark.parametrize("keyword", BAD)
def test_a_bad_value_gives_one_message_in_words(keyword: str) -> None:
    part, text, words = BAD[keyword]
    schema = _schema(part)
    changes, errors = fields.parse(schema, {}, {"f-value": text})
    assert changes == {}
    assert words in errors["value"]
    assert not RAW.search(errors["value"]), errors["value"]
    assert errors["value"].count(".") == 1 + ("e-mail" in words)
    [field] = fields.build(schema, {}, posted={"f-value": text}, errors=errors)
    html = render_to_string("components/form_errors.html", {"fields": [field], "errors": errors})
    html += render_to_string("components/field.html", {"field": field})
    assert _plain(html).count(errors["value"]) == 1
    assert re.findall(r"(\d+) things? to fix", html) == ["1"]


def test_no_keyword_is_left_out() -> None:
    from jsonschema import Draft202012Validator

    # minContains and maxContains are read with `contains`, then and else with `if`.
    assert set(Draft202012Validator.VALIDATORS) <= set(BAD)


def _plain(html: str) -> str:
    text = re.sub("<[^>]+>", "", html)
    return text.replace("&quot;", '"').replace("&#x27;", "'").replace("&amp;", "&")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab^$\\(", max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.sampled_from(sorted(BAD)),
)  # fmt: skip
def test_no_value_gets_an_expression_or_a_path(value: Any, keyword: str) -> None:
    for fault in schema_faults(_schema(BAD[keyword][0]), {"value": value}):
        name, _ = location(fault.path)
        assert name == "value"
        shown = fault.message.replace("\\\\", "").split(", not ")[0]  # the value may hold anything
        assert not re.search(r"\\d|\(\?|\^\(", shown)
        assert sentence(fault.message).endswith((".", "…"))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (DAY, "use a date like 2026-11-30"),
        (r"^\d{1,12}(\.\d{1,2})?$", "use an amount like 12.50"),
        (r"^[A-Z]{3}$", "use a currency like EUR"),
        (r"^\S+@\S+$", "use an e-mail address like ada@example.com"),
        # Takes too many kinds to be named after one of them.
        (r"^[a-zA-Z0-9-]+$", patterns.UNKNOWN),
        (r"^[", patterns.UNKNOWN),
    ],
)
def test_a_pattern_is_told_by_an_example(pattern: str, words: str) -> None:
    assert patterns.described(pattern, {}) == words


def test_the_schema_s_own_example_comes_before_giving_up() -> None:
    schema = {"examples": ["north-2"], "default": "south-1"}
    assert patterns.described("^[a-z]+-[0-9]$", schema) == "use a text like north-2"
    assert patterns.described("^[a-z]+-[0-9]$", {"default": "south-1"}) == "use a text like south-1"


def _templates() -> Iterator[Path]:
    for path in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        text = path.read_text()
        # Some inputs stand in a part that several forms include.
        if "components/form_errors.html" in text or "{{ errors." in text:
            yield path


def test_an_input_of_the_summary_shows_its_own_message() -> None:
    seen = set()
    for path in _templates():
        text = path.read_text()
        for name in BESIDE:
            if f'name="{name}"' in text:
                seen.add(name)
                assert f"{{{{ errors.{name}|prose }}}}" in text, f"{path.name}: {name}"
    assert seen == BESIDE


def test_four_faults_are_four(cast: Cast, client: Any) -> None:
    """The seen case: eight lines for four faults, each as a regular expression."""
    properties = {
        "most": {"type": "integer", "title": "Invoices per approval", "minimum": 1},
        "due_by": {"type": "string", "title": "Due by", "pattern": DAY},
        "limit": {"type": "string", "title": "Limit", "pattern": r"^\d{1,12}(\.\d{1,2})?$"},
        "corrected": {"type": "object", "title": "Corrected"},
    }
    store.announce_version(
        agent="payer", version=1, fingerprint="e" * 64, label="Payer", description="",
        schema_version=1, schema={"type": "object", "properties": properties},
        channels={name: {"reducer": "last_value"} for name in properties},
        graph=scene.GRAPH, tools={}, queue="gatepost",
    )  # fmt: skip
    posted = {"f-most": "0", "f-due_by": "31.11.2026", "f-limit": "much", "f-corrected": "{"}
    answer = cast.client("operator").post("/threads/new/", {"agent": "payer", **posted})
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "4 things to fix" in html
    for words in (
        "This must be at least 1.",
        "Use a date like 2026-11-30.",
        "Use an amount like 12.50.",
        "This is not valid JSON; look at line 1, character 2.",
    ):
        assert _plain(html).count(words) == 1, words
