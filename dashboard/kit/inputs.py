"""The input of an action as people give it: its fields on a page, its options in a command.

Both are made from its JSON Schema, as the forms of agents are (`dashboard.fields`). Its values are
read there and judged by the shape itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.errors import Fault, Invalid
from dashboard.fields import form
from dashboard.fields.inputs import ABSENT, FALSE, MARKED, TRUE, Member, member
from dashboard.fields.shapes import Field as FormField
from dashboard.fields.shapes import Option
from dashboard.fields.validation import REASON_MAX
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank

OPENED: Final = "opened"
RequiredReason = Annotated[str, NotBlank(REASON_MAX), Field(description="Why; kept in the log.")]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The schema of an input as a form takes it.

    Names are those that a person gives one by one, `label` of `labels`; `fields` has the field of
    each, `members` each by itself, in the order of the shape.
    """

    schema: Mapping[str, Any]
    fields: Mapping[str, str]
    members: Sequence[Member]

    def shown(self, opened: Mapping[str, Any] | None) -> dict[str, Any]:
        """The values that a form was opened on, by what people call them."""
        values = opened or {}
        return {key: values[name] for key, name in self.fields.items() if name in values}


@cache
def inputs_of(shape: type[RequestShape]) -> Inputs:
    """The schema of a shape for forms and commands, each field under its name in words."""
    schema = shape.model_json_schema()
    parts: dict[str, Any] = {}
    fields: dict[str, str] = {}
    for name in shape.model_fields:
        part = schema["properties"][name]
        key = name
        if isinstance(part.get("additionalProperties"), Mapping):
            key = name.removesuffix("s")
            help_text = f"{part.get('description', '')} Write key:value.".strip()
            part = part | {MARKED: "pair", "description": help_text}
        parts[key] = part | {"title": key.replace("_", " ").capitalize()}
        fields[key] = name
    required = [key for key, name in fields.items() if shape.model_fields[name].is_required()]
    drawn = schema | {"properties": parts, "required": required, "x-order": [*parts]}
    members = [member(key, parts[key], drawn, ABSENT, omittable=True) for key in fields]
    return Inputs(drawn, fields, members)


def fields_of(
    shape: type[RequestShape],
    names: Sequence[str],
    texts: Mapping[str, str],
    problems: Mapping[str, str],
    options: Mapping[str, Sequence[Option]],
    opened: Mapping[str, Any] | None = None,
) -> list[FormField]:
    """The inputs of some fields, with what was written.

    Before somebody writes they show the values that they are `opened` on.
    """
    inputs = inputs_of(shape)
    chosen = {key: name for key, name in inputs.fields.items() if name in names}
    errors = {key: problems.get(key) or problems.get(name, "") for key, name in chosen.items()}
    drawn = form.build(
        inputs.schema,
        inputs.shown(opened),
        posted=texts,
        errors=errors,
        only=chosen,
        compare=False,
        omittable=True,
        prefix="",
        asks=False,
    )
    by_name = {chosen[one.name]: one for one in drawn}
    shown: list[FormField] = []
    for name in names:
        one = by_name[name]
        if name in options:
            about = shape.model_fields[name].description or ""
            one = replace(one, kind="select", options=options[name], help=about)
        shown.append(one)
    return shown


def declared(
    shape: type[RequestShape],
    names: Sequence[str],
    texts: Mapping[str, str],
    problems: Mapping[str, str],
    options: Mapping[str, Sequence[Option]] | None = None,
    opened: Mapping[str, Any] | None = None,
) -> dict[str, FormField]:
    """The inputs of some fields by name, for a template that draws each in its place."""
    drawn = fields_of(shape, names, texts, problems, options or {}, opened)
    return dict(zip(names, drawn, strict=True))


def from_texts(
    shape: type[RequestShape],
    texts: Mapping[str, str],
    opened: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The values of a form or an address; raises Invalid with the path of each fault.

    What is empty is left out, or where it was `opened` on a value, cleared: null, an empty text or
    an empty list, as the schema takes it. What was not touched is left out in any case.
    """
    inputs = inputs_of(shape)
    shown = inputs.shown(opened)
    written: dict[str, str] = {}
    for one in inputs.members:
        text = texts.get(one.name, "")
        if one.kind == "bool" and text.strip() not in ("", FALSE):
            text = TRUE  # a box that is ticked, or a word of an address
        if one.name in shown and one.name in texts:
            written[one.name] = text
        elif text.strip():
            written[one.name] = text.strip()
    options: dict[str, Any] = {"omittable": True, "prefix": "", "judges": False}
    changes, problems = form.parse(inputs.schema, shown, written, **options)
    if problems:
        raise Invalid.of(Fault(f"$.{key}", message) for key, message in problems.items())
    values = form.without_absent(changes)
    return {inputs.fields[key]: value for key, value in values.items()}


def opened_on(
    shape: type[RequestShape], texts: Mapping[str, str], now: Mapping[str, Any]
) -> dict[str, Any]:
    """The values that a form was opened on, as its hidden `opened` says; without one those of now.

    A field that equals its value here was not touched: it stays as somebody else may have set it.
    """
    try:
        values = deltas.decode_request(texts.get(OPENED, "").encode())
        shown = {name: values[name] for name in now}
        shape.model_validate(shown)
    except (InvalidValue, ValidationError, KeyError, TypeError, ValueError):
        return dict(now)
    return shown


def opened_text(opened: Mapping[str, Any]) -> str:
    """The hidden `opened` of a form that was opened on these values."""
    return deltas.canonical(dict(opened)).decode()
