"""Bodies of requests, as strict shapes: no value is turned into another type."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from checkpoints.agent_versions import CAN
from checkpoints.limits import AGENT_MAX, NAME_MAX, NODE_MAX
from checkpoints.log.fork_budgets import COST, NUMBER_MAX
from checkpoints.state.deltas import LIMITS
from checkpoints.state.searchable import CHANNELS_MAX, VALUE_BYTES_MAX
from checkpoints.verdicts import Verdict
from dashboard.actions.forks import OUTPUT_MAX_BYTES
from dashboard.actions.stopped import code_choice
from dashboard.actions.stopped.unknown_effects import RESULT_MAX_BYTES
from dashboard.errors import FAULTS_MAX
from dashboard.fields.validation import (
    CONFIG_BYTES,
    LABEL_KEY_MAX,
    LABELS_MAX,
    NOT_BLANK,
)
from workers.external.announcement import REDUCERS, Announcement

from .texts import Id, NotBlank, OneOf, Reason, Title

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


class StartThread(RequestShape):
    """A new thread, or the continuation of the one of that name."""

    agent: Annotated[str, NotBlank(AGENT_MAX)]
    input: dict[str, Any] = Field(
        default_factory=dict,
        description="Values by channel, which the agent's state takes; the state may have "
        f"{LIMITS.state_bytes:,} bytes.",
    )
    name: Annotated[str, NotBlank(NAME_MAX)] | None = None
    title: Title = ""
    labels: Labels = Field(default_factory=dict)
    pause_at: Annotated[str, Field(max_length=NODE_MAX)] = Field(
        "", description="A node to stop before."
    )
    config: Config = Field(default_factory=dict)
    external: ExternalAgent | None = Field(
        None,
        description="Of an agent that works elsewhere and reports: what it says of itself. The "
        "agent is announced with it.",
    )


class Reveal(RequestShape):
    """Which encrypted channel to read, and at which checkpoint; without one at the head."""

    channel: Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
    checkpoint: Id | None = None


class Nothing(RequestShape):
    """An empty body."""


class Settle(RequestShape):
    """The answer to what a thread asks about one effect."""

    activity: Id = Field(description="The effect: `why_waiting.facts.activity`.")
    verdict: Annotated[str, OneOf(Verdict)] = Field(
        description="`happened` (with `result`), `not_happened` or `undo` for one whose outcome is "
        "unknown; `keep`, `again` or `undo_again` for one that is asked with other arguments."
    )
    result: Any = Field(
        None,
        description="What it answered, if it happened: any JSON, "
        f"at most {RESULT_MAX_BYTES:,} bytes.",
    )
    reason: Reason = ""


class ChooseCode(RequestShape):
    """A choice for a thread whose agent's code changed."""

    choice: Annotated[str, OneOf(code_choice.CHOICES)]


class ChooseCodeMany(RequestShape):
    """The same choice for several threads, each separately."""

    choice: Annotated[str, OneOf(code_choice.CHOICES)]
    threads: Annotated[list[Id], Field(min_length=1, max_length=code_choice.AT_ONCE)]


class Cancel(RequestShape):
    """The end of a thread."""

    reason: Reason = ""
    undo: bool = Field(
        False, description="Undo its effects, most recent first, before it is cancelled."
    )
    undo_unknown: bool = Field(
        False, description="With `undo`: also what may have happened, where it has an undo."
    )
    children: bool = Field(False, description="Let it reach the threads that it started as well.")


class Edit(RequestShape):
    """New values over the head; `reason` is required unless it is a preview."""

    changes: Changes
    reason: Reason = ""


class ForkBudget(RequestShape):
    """The limits at which a fork pauses; what it starts counts. Resuming grants them once more."""

    cost: Annotated[str, Field(max_length=16, pattern=f"^(?:{COST.pattern})$")] | None = Field(
        None, description="Dollars as text, such as `0.50`."
    )
    tokens: Annotated[int, Field(ge=1, le=NUMBER_MAX)] | None = None
    steps: Annotated[int, Field(ge=1, le=NUMBER_MAX)] | None = Field(
        None, description="Finished steps of the fork itself."
    )


class InsteadOf(RequestShape):
    """A finished call of the thread, and the output that it had in the fork."""

    activity: Id
    output: Any = Field(
        description="Of the same JSON type as what was recorded; at most "
        f"{OUTPUT_MAX_BYTES:,} bytes."
    )


class Fork(RequestShape):
    """A new thread from a checkpoint of this one."""

    checkpoint: Id | None = Field(
        None,
        description="Left out: the head; with `instead_of` the one that its step began from.",
    )
    changes: Changes = Field(default_factory=dict)
    title: Title = ""
    effects: Literal["ask", "run"] = "ask"
    reason: Reason = ""
    config: Config = Field(
        default_factory=dict,
        description="What differs from the thread's own configuration; null takes a member away. "
        f"{CONFIG_SIZE}",
    )
    budget: ForkBudget | None = None
    instead_of: InsteadOf | None = Field(
        None,
        description="A counterfactual: only this output differs, so `changes` and `config` are "
        "empty and `effects` is `ask`. GET `diff/` says whether the ending flips.",
    )

    def more(self) -> dict[str, Any]:
        """The arguments of the action that most forks have not."""
        budget = self.budget and self.budget.model_dump(exclude_none=True)
        other = self.instead_of
        more = {} if other is None else {"instead_of": other.activity, "output": other.output}
        return more | ({"budget": budget} if budget else {})


class RollBack(RequestShape):
    """The head moved back; `reason` is required unless it is a preview."""

    checkpoint: Id
    reason: Reason = ""
    compensate: bool = Field(True, description="Undo the effects after it; false leaves them done.")
    run_on: bool = False
    children: bool = Field(
        False, description="Cancel the threads that it started after the checkpoint."
    )


HASH_MAX = 100
Hash = Annotated[str, NotBlank(HASH_MAX)]
