"""Forms made from a JSON Schema: inputs, values and refusals beside their field."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.fields import form as fields

pytestmark = pytest.mark.requirement("F02")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["share"],
    "$defs": {"Level": {"enum": ["low", "high"], "type": "string"}},
    "properties": {
        "question": {"type": "string", "title": "Question", "description": "What to find out."},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "rows": {"type": "integer"},
        "strict": {"type": "boolean"},
        "level": {"$ref": "#/$defs/Level"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "groups": {"type": "array", "items": {"type": "string"}},
        "odd": {"type": "array", "items": {"type": "string"}},
        "meta": {"type": "object"},
        "file": {"anyOf": [{"type": "object"}, {"type": "null"}], "x-gatepost": "artifact"},
        "sum": {"type": "object", "readOnly": True},
    },
}
VALUES: dict[str, Any] = {
    "question": "Why?",
    "share": 0.5,
    "rows": 12,
    "strict": True,
    "level": "low",
    "note": None,
    "groups": ["a", "b"],
    "odd": ["two\nlines"],
    "meta": {"x": 1},
    "file": {"$artifact": "ab" * 32, "name": "t.csv"},
    "sum": {"n": 1},
}


def posted(**changes: str) -> dict[str, str]:
    """What a browser sends of the form as built, with some inputs changed."""
    built = fields.build(SCHEMA, VALUES)
    return {f.name: f.value for f in built} | {f"f-{k}": v for k, v in changes.items()}


def test_each_kind_of_value_gets_its_input() -> None:
    results = {f.channel: f for f in fields.build(SCHEMA, VALUES)}
    assert {c: f.kind for c, f in results.items()} == {
        "question": "text", "share": "number", "rows": "integer", "strict": "bool",
        "level": "select", "note": "text", "groups": "lines", "odd": "json", "meta": "json",
        "file": "file", "sum": "fixed",
    }  # fmt: skip
    assert results["question"].label == "Question"
    assert results["share"].help == "number, 0 to 1"
    # What the input itself shows is not said again.
    assert results["level"].help == results["strict"].help == ""
    assert [option.value for option in results["level"].options] == ["low", "high"]
    assert results["groups"].value == "a\nb"
    assert results["file"].value == "t.csv"
    assert results["share"].required


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Columns to leave out.", "Columns to leave out (one per line)."),
        ("Columns to leave out", "Columns to leave out (one per line)"),
        ("", "one per line"),
    ],
)
def test_what_to_enter_stands_in_the_sentence(description: str, shown: str) -> None:
    part = {"type": "array", "items": {"type": "string"}, "description": description}
    [field] = fields.build({"properties": {"ignore": part}}, {})
    assert field.help == shown


def test_what_was_not_touched_is_no_change() -> None:
    assert fields.parse(SCHEMA, VALUES, posted()) == ({}, {})
    windows = {k: v.replace("\n", "\r\n") for k, v in posted().items()}
    assert fields.parse(SCHEMA, VALUES, windows) == ({}, {})


def test_changed_texts_become_values_of_their_type() -> None:
    changes, errors = fields.parse(
        SCHEMA,
        VALUES,
        posted(share="0.25", rows="1,000", strict="false", level="high", groups="a\n\n c \n",
               meta='{"x": [1, 2]}', note="hello"),
    )  # fmt: skip
    assert errors == {}
    assert changes == {
        "share": 0.25, "rows": 1000, "strict": False, "level": "high", "groups": ["a", "c"],
        "meta": {"x": [1, 2]}, "note": "hello",
    }  # fmt: skip
    assert isinstance(changes["rows"], int)


@pytest.mark.parametrize(
    ("channel", "text", "message"),
    [
        ("share", "lots", "not a number"),
        ("share", "2", "This must be at most 1."),
        ("rows", "1.5", "not a whole number"),
        ("level", "medium", 'This must be one of "low", "high".'),
        ("meta", "{", "not valid JSON; look at line 1, character 2"),
        ("meta", '{"a": 1, "a": 2}', "a: the key occurs twice."),
        ("meta", '{"a": NaN}', "a"),
        ("meta", "[1]", "This must be an object, not a list."),
        ("rows", str(2**60), "loses digits"),
        ("question", "nul \x00", "cannot be stored"),
    ],
)
def test_a_bad_value_is_refused_at_its_field(channel: str, text: str, message: str) -> None:
    changes, errors = fields.parse(SCHEMA, VALUES, posted(**{channel: text}))
    assert channel not in changes
    assert message in errors[channel]
    (field,) = [
        f
        for f in fields.build(SCHEMA, VALUES, posted=posted(**{channel: text}), errors=errors)
        if f.error
    ]
    assert field.channel == channel
    assert field.value == text


def test_an_empty_optional_text_stays_null_and_read_only_is_never_read() -> None:
    changes, _ = fields.parse(SCHEMA, VALUES, posted(note="", sum="{}", file="x"))
    assert changes == {}


def test_a_start_form_takes_what_is_filled_in() -> None:
    start = {"f-question": "Why?", "f-share": "1", "f-rows": "", "f-meta": " "}
    changes, errors = fields.parse(SCHEMA, {}, start, omittable=True)
    assert changes == {"question": "Why?", "share": 1.0}
    assert errors == {}


def test_a_changed_value_remembers_what_it_was() -> None:
    results = {f.channel: f for f in fields.build(SCHEMA, VALUES, posted=posted(rows="13"))}
    assert results["rows"].was == "12"
    assert results["share"].was is None
    plain = {f.channel: f for f in fields.build(SCHEMA, VALUES, only=["rows"], compare=False)}
    assert list(plain) == ["rows"]
