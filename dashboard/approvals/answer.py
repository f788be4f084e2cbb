"""The form of an answer to a question: inputs by its schema, or words where these will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dashboard.fields.one_value import read_value, value_fields
from dashboard.fields.shapes import Field

ANSWER: Final = "answer"  # the input of a question that asks for one value


def answer_fields(
    schema: Any, posted: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> list[Field]:
    """Inputs for the answer; none where words will do: the schema says nothing, or takes a text."""
    return (
        [] if _takes_words(schema) else value_fields(schema, ANSWER, "Your answer", posted, errors)
    )


def read_answer(schema: Any, posted: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """(the answer, {input: problem}); what was left out or never chosen is not in it."""
    if not _takes_words(schema):
        return read_value(schema, ANSWER, posted)
    text = posted.get(ANSWER, "").replace("\r\n", "\n")
    return (text, {}) if text.strip() else (None, {"": "Write an answer."})


def _takes_words(schema: Any) -> bool:
    """Answer True if a text will do, among other plain values, and nothing else is said of it."""
    if not isinstance(schema, Mapping) or not schema:
        return True
    kinds = schema.get("type")
    if not isinstance(kinds, list) or not schema.keys() <= {"type", "title"}:
        return False
    return "string" in kinds and len({*kinds} - {"null"}) > 1
