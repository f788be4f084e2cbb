"""Answers as JSON, and their JSON Schema: shapes of our own, and rows of readers as they are.

A row is a frozen dataclass. `Annotated[..., Field(description=...)]` describes a field of it,
`Field(exclude=True)` keeps one out of answers. Documents name it by its class, without "Row".
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class Row(Protocol):
    """A dataclass, as a reader answers it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


type Answer = BaseModel | Row


def name_of(answers: type[Answer]) -> str:
    """The name of an answer in documents: `Subscription` of SubscriptionRow."""
    return answers.__name__.removesuffix("Row")


def with_more[Longer: Row](kind: type[Longer], row: Row, **more: Any) -> Longer:
    """A row as one of `kind`, which has more fields."""
    return kind(**{one.name: getattr(row, one.name) for one in fields(row)}, **more)


def json_value(answer: Answer | list[Any]) -> Any:
    """An answer, or several, in plain JSON types."""
    if isinstance(answer, list):
        return [json_value(one) for one in answer]
    return _adapter(type(answer)).dump_python(answer, mode="json", by_alias=True)


def schema_of(answers: Any, ref_template: str = DEFAULT_REF_TEMPLATE) -> dict[str, Any]:
    """JSON Schema of an answer, or of a union of them."""
    return _adapter(answers).json_schema(
        mode="serialization", ref_template=ref_template, schema_generator=_AnswerSchema
    )


@cache
def _adapter(answers: Any) -> TypeAdapter[Any]:
    return TypeAdapter(answers)


class _AnswerSchema(GenerateJsonSchema):
    """Every field of a row is always sent, so each is required and none shows a default."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Row")

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        shown = super().dataclass_schema(schema) | {"title": name_of(schema["cls"])}
        for part in shown["properties"].values():
            part.pop("readOnly", None)  # of computed fields; nothing of an answer is written
        return shown

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonSchemaValue:
        shown = super().dataclass_field_schema(schema)
        shown.pop("default", None)
        return shown

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)
