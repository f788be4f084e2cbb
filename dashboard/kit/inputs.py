"""The input of an action as a person gives it in texts: kinds of fields, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo

from dashboard.api.shapes.requests import RequestShape
from dashboard.api.shapes.texts import NotBlank
from dashboard.errors import Invalid
from dashboard.fields.validation import REASON_MAX

RequiredReason = Annotated[str, NotBlank(REASON_MAX), Field(description="Why; kept in the log.")]


def kind_of(field: FieldInfo) -> type:
    """The type of a field's values beside null: str, int, bool, UUID, dict or Literal."""
    one = _values_of(field)
    kind: type = get_origin(one) or one
    return kind


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """The texts of which a field takes one; empty where it takes others."""
    one = _values_of(field)
    return get_args(one) if get_origin(one) is Literal else ()


def _values_of(field: FieldInfo) -> Any:
    """The annotation of a field's values, without null and what is said of it."""
    one: Any = field.annotation
    while get_origin(one) is Annotated or NoneType in get_args(one):
        one = next(part for part in get_args(one) if part is not NoneType)
    return one


def option_of(name: str, field: FieldInfo) -> str:
    """The name of one value where a person gives them one by one: label of labels."""
    return name.removesuffix("s") if kind_of(field) is dict else name


def from_texts(shape: type[RequestShape], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of a form or an address; what is empty is left out. Raises Invalid."""
    values: dict[str, Any] = {}
    for name, field in shape.model_fields.items():
        option = option_of(name, field)
        text = texts.get(option, "").strip()
        if not text:
            continue
        kind = kind_of(field)
        if kind is int:
            if not (text.isascii() and text.isdecimal() and len(text) < 19):
                raise Invalid(f"$.{option}", "must be a whole number")
            values[name] = int(text)
        elif kind is dict:
            key, colon, value = text.partition(":")
            if not (key.strip() and colon):
                raise Invalid(f"$.{option}", "is written key:value")
            values[name] = {key.strip(): value.strip()}
        else:
            values[name] = True if kind is bool else text
    return values
