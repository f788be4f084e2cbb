"""Types of texts and ids in bodies: the document states each limit from the constant that holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from approvals.states import COMMENT_MAX
from checkpoints.limits import TITLE_MAX
from dashboard.fields.validation import NOT_BLANK, REASON_MAX, is_blank

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_id(text: str) -> bool:
    """True if the text is an id in the one spelling that `format: uuid` allows."""
    return _UUID.fullmatch(text) is not None


def _check_id(value: Any) -> Any:
    if isinstance(value, str) and not is_id(value):
        raise PydanticCustomError("id", "must be an id, 32 hexadecimal digits with four hyphens")
    return value


_NO_TIME = ("time", "must be a time such as 2026-03-01T12:00:00Z")


def _check_time_text(value: Any) -> Any:
    """Refuse numbers, which Pydantic would read as seconds."""
    if not isinstance(value, str):
        raise PydanticCustomError(*_NO_TIME)
    return value


def _check_time_in_utc(value: datetime) -> datetime:
    """Refuse a time whose year in UTC is 0 or 10,000: PostgreSQL has them, Python does not."""
    try:
        value.astimezone(UTC)
    except OverflowError as error:
        raise PydanticCustomError(*_NO_TIME) from error
    return value


# A time with its zone, as a text.
Time = Annotated[
    AwareDatetime,
    Field(strict=False),
    BeforeValidator(_check_time_text),
    AfterValidator(_check_time_in_utc),
]


def _check_not_blank(value: str) -> str:
    if is_blank(value):
        raise PydanticCustomError("blank", "is required")
    return value


@dataclass(frozen=True, slots=True)
class NotBlank:
    """A text of at most `most` characters, one of which can be seen, and none of `without`."""

    most: int
    without: str = ""

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(min_length=1, max_length=self.most)
        return core_schema.no_info_after_validator_function(self._check, text)

    def _check(self, value: str) -> str:
        if refused := next((char for char in self.without if char in value), ""):
            raise PydanticCustomError("character", f"must not contain {refused}")
        return _check_not_blank(value)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        visible = f"^[^{self.without}]*{NOT_BLANK[:-1]}{self.without}][^{self.without}]*$"
        return {**handler(schema), "pattern": visible if self.without else NOT_BLANK}


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these words."""

    words: Iterable[str]

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema([str(word) for word in self.words])


# JSON has no ids, so the text of one is taken; everything else keeps its type.
Id = Annotated[UUID, Field(strict=False), BeforeValidator(_check_id)]
Title = Annotated[str, Field(max_length=TITLE_MAX)]
Reason = Annotated[str, Field(max_length=REASON_MAX)]
Comment = Annotated[str, Field(max_length=COMMENT_MAX)]
