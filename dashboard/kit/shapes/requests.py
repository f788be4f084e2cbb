"""Bodies of requests, as strict shapes: no value is turned into another type."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from checkpoints.agent_versions import CAN
from checkpoints.limits import NAME_MAX, NODE_MAX
from checkpoints.state.deltas import LIMITS
from checkpoints.state.searchable import CHANNELS_MAX, VALUE_BYTES_MAX
from dashboard.errors import FAULTS_MAX
from dashboard.fields.validation import (
    CONFIG_BYTES,
    LABEL_KEY_MAX,
    LABELS_MAX,
    NOT_BLANK,
)
from workers.external.announcement import REDUCERS, Announcement

from .texts import NotBlank, OneOf

Changes = Annotated[
    dict[str, Any],
    Field(
        description="New values by channel; each replaces the old one. The state afterwards may "
        f"have {LIMITS.state_bytes:,} bytes."
    ),
]


def _takes_whole(annotation: Any) -> bool:
    """Answer True if a whole number is one of the types that an annotation takes, at its top."""
    if get_origin(annotation) is Annotated:
        return _takes_whole(get_args(annotation)[0])
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return any(_takes_whole(one) for one in get_args(annotation))
    return annotation is int


def _whole(annotation: Any, value: Any) -> Any:
    """The value with 3.0 as 3 where a whole number is expected, also in a list."""
    if isinstance(value, float) and value.is_integer() and _takes_whole(annotation):
        return int(value)
    if isinstance(value, list) and get_origin(annotation) is list:
        [item] = get_args(annotation)
        return [_whole(item, one) for one in value]
    return value


class RequestShape(BaseModel):
    """A body without unknown members. A whole number may be written 3.0, as JSON Schema has it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, value: Any) -> Any:
        """Take 3.0 for 3 where a whole number is expected."""
        if not isinstance(value, dict):
            return value
        whole = {
            key: _whole(field.annotation, value[key])
            for name, field in cls.model_fields.items()
            if isinstance(value.get(key := field.alias or name), float | list)
        }
        return {**value, **whole} if whole else value

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, value: Any) -> Any:
        """Refuse very many unknown members as one, before each of them becomes a fault."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + FAULTS_MAX:
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = [name for name in value if name not in known]
            shown = ", ".join(name[:80] for name in unknown[:3])
            raise PydanticCustomError(
                "unknown",
                "{shown} and {n_more} more members are not taken here",
                {"shown": shown, "n_more": f"{len(unknown) - 3:,}"},
            )
        return value


CONFIG_SIZE = f"At most {CONFIG_BYTES:,} bytes."
Config = Annotated[
    dict[str, Any],
    Field(description=f"Model, temperature, prompt texts: what nodes read there. {CONFIG_SIZE}"),
]
# The keys' rule is stated by hand: pydantic would drop the pattern. `check_labels` enforces it.
KEYS: JsonDict = {"minLength": 1, "maxLength": LABEL_KEY_MAX, "pattern": NOT_BLANK}
Labels = Annotated[
    dict[str, Annotated[str, Field(max_length=NAME_MAX)]],
    Field(max_length=LABELS_MAX, json_schema_extra={"propertyNames": KEYS}),
]


TOOL_MAX, INDEX_MAX = 200, 2**31 - 1
NODES_MAX, TOOLS_MAX = 200, 200
Json = dict[str, Any]
Node = Annotated[str, NotBlank(NODE_MAX)]
Tool = Annotated[str, NotBlank(TOOL_MAX)]
NAMES: JsonDict = {"minLength": 1, "maxLength": NODE_MAX, "pattern": NOT_BLANK}
TOOL_NAMES: JsonDict = {"minLength": 1, "maxLength": TOOL_MAX, "pattern": NOT_BLANK}
Channels = Annotated[
    dict[Node, Annotated[str, OneOf(REDUCERS)]],
    Field(max_length=TOOLS_MAX, json_schema_extra={"propertyNames": NAMES}),
]


class AnnouncedTool(RequestShape):
    """A tool that changes the outside world, or with `effect: false` one that does not."""

    effect: bool = Field(
        True, description="False: it changes nothing. A policy that names it holds it all the same."
    )
    idempotent: bool = Field(False, description="Calling it again with the same key does no harm.")
    undo: Annotated[str, Field(max_length=TOOL_MAX)] = Field(
        "", description="Its undo; you are asked to call it after a rollback."
    )
    schema_: Json | None = Field(
        None, alias="schema", description="JSON Schema of its arguments, for edits by reviewers."
    )
    description: Annotated[str, Field(max_length=1_000)] = ""


class ExternalAgent(RequestShape):
    """An agent that works elsewhere and reports; it needs no code of ours."""

    framework: Annotated[str, Field(max_length=60)] = ""
    version: Annotated[int, Field(ge=1, le=INDEX_MAX)] = 1
    schema_: Json | None = Field(
        None,
        alias="schema",
        description="JSON Schema of the state; without one the state may hold anything.",
    )
    channels: Channels = Field(
        default_factory=dict, description="Channels that grow: how a new value joins them."
    )
    nodes: Annotated[list[Node], Field(max_length=NODES_MAX)] = Field(default_factory=list)
    tools: Annotated[
        dict[Tool, AnnouncedTool],
        Field(max_length=TOOLS_MAX, json_schema_extra={"propertyNames": TOOL_NAMES}),
    ] = Field(default_factory=dict)
    message_channel: Annotated[str, Field(max_length=NODE_MAX)] = Field(
        "", description="The channel that takes what people send; empty: none does."
    )
    searchable: Annotated[list[Node], Field(max_length=CHANNELS_MAX)] = Field(
        default_factory=list,
        description="Channels that `state.CHANNEL:value` finds threads by, named in letters, "
        "digits, _ and -. Each is replaced as a whole: none that grows. "
        f"A value has at most {VALUE_BYTES_MAX:,} bytes as JSON.",
    )
    can: Annotated[list[Annotated[str, OneOf(CAN)]], Field(max_length=3)] = Field(
        default=list(CAN), description="What people do to a thread that you can continue from."
    )

    def announcement(self) -> Announcement:
        """The same for the floor below."""
        own = {
            name: getattr(self, name)
            for name in ("framework", "version", "nodes", "message_channel", "searchable")
        }
        tools = {name: tool.model_dump(by_alias=True) for name, tool in self.tools.items()}
        return Announcement(
            **own, schema=self.schema_, channels=self.channels, tools=tools, can=self.can
        )


class Nothing(RequestShape):
    """An empty body."""


HASH_MAX = 100
Hash = Annotated[str, NotBlank(HASH_MAX)]
