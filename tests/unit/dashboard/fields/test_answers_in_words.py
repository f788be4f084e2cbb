"""A question that takes a text, and other plain values, is answered in words on the page."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.approvals.answer import ANSWER, answer_fields, read_answer


@pytest.mark.parametrize(
    "schema", [None, {}, {"type": ["string", "number", "boolean"]}, {"type": ["integer", "string"]}]
)
@pytest.mark.parametrize("text", ["yes", "30", "true", '{"answer": "yes"}'])
def test_words_are_the_answer(schema: Any, text: str) -> None:
    assert answer_fields(schema) == []
    assert read_answer(schema, {ANSWER: text}) == (text, {})
    assert read_answer(schema, {ANSWER: " "}) == (None, {"": "Write an answer."})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": ["string", "null"]},
        {"type": ["number", "boolean"]},
        {"type": ["string", "number"], "enum": ["a", 1]},
    ],
)
def test_any_other_schema_has_a_form(schema: Any) -> None:
    assert [field.name for field in answer_fields(schema)] == [ANSWER]
