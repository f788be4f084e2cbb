"""The form of an answer to a question: inputs by its schema, and the answer that a person gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from checkpoints.state.list_keys import resolve
from dashboard.fields import form as fields
from dashboard.fields.inputs import reading_of
from dashboard.fields.shapes import Field

ANSWER: Final = "answer"  # the input of a question that asks for one value
_INPUT: Final = fields.PREFIX + ANSWER


def answer_fields(
    schema: Any, posted: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> list[Field]:
    """Inputs for the answer; none where words will do: the schema says nothing, or takes a text."""
    whole = _whole(schema)
    if whole is None:
        return []
    built = fields.build(
        whole,
        _suggested(whole),
        posted=_as_posted(posted or {}),
        errors=errors,
        compare=False,
        omittable=True,
    )
    if _is_object(schema):
        return built
    return [replace(built[0], name=ANSWER, label=str(schema.get("title") or "Your answer"))]


def read_answer(schema: Any, posted: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """(the answer, {input: problem}); what was left out or never chosen is not in it."""
    whole = _whole(schema)
    if whole is None:
        text = posted.get(ANSWER, "").replace("\r\n", "\n")
        return (text, {}) if text.strip() else (None, {"": "Write an answer."})
    opened = _suggested(whole)
    changes, problems = fields.parse(whole, opened, _as_posted(posted), omittable=True)
    answer = fields.without_absent(opened | changes)
    if not _is_object(schema):
        return answer.get(ANSWER), problems
    return {name: answer[name] for name in fields.channels(whole) if name in answer}, problems


def _is_object(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "properties" in schema


def _whole(schema: Any) -> Mapping[str, Any] | None:
    """The schema of an object: that of one value as its only, required member."""
    if not isinstance(schema, Mapping) or not schema or _takes_words(schema):
        return None
    if _is_object(schema):
        return schema
    one = {key: value for key, value in schema.items() if key != "$defs"}
    return {"properties": {ANSWER: one}, "required": [ANSWER], "$defs": schema.get("$defs", {})}


def _takes_words(schema: Mapping[str, Any]) -> bool:
    """Answer True if a text will do, among other plain values, and nothing else is said of it."""
    kinds = schema.get("type")
    if not isinstance(kinds, list) or not schema.keys() <= {"type", "title"}:
        return False
    return "string" in kinds and len({*kinds} - {"null"}) > 1


def _as_posted(posted: Mapping[str, str]) -> dict[str, str]:
    texts = dict(posted)
    if ANSWER in texts:
        texts.setdefault(_INPUT, texts[ANSWER])
    return texts


def _suggested(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Values that the author fills in for a person to see; a yes or no is the person's alone."""
    results = {}
    for name, raw in schema["properties"].items():
        if not isinstance(raw, Mapping):
            continue
        part, _ = resolve(raw, schema)
        value = raw.get("default", part.get("default", fields.ABSENT))
        # An empty one looks like an input that nobody filled in.
        if not reading_of(value) and not isinstance(value, bool):
            results[name] = value
    return results
