"""Requests of agents that work elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from approvals.states import DEFAULT_RISK, Risk
from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.state.deltas import LIMITS
from dashboard.kit.shapes.requests import (
    INDEX_MAX,
    NODES_MAX,
    TOOL_MAX,
    ExternalAgent,
    Json,
    Node,
    RequestShape,
    Tool,
)
from dashboard.kit.shapes.texts import Id, NotBlank, OneOf, Reason
from workers.external.bounds import (
    BUCKET,
    LEAVING,
    REPORTER_MAX,
    SECONDS_DEFAULT,
    SECONDS_MAX,
    SECONDS_MIN,
)

KEY_MAX = 190
RECORDS_MAX, QUESTIONS_MAX = 200, 20
THOUGHT_MAX, THOUGHTS_MAX = 8_000, 100
YEAR_SECONDS = 366 * 86_400

# Patterns: a document names each list of words once, and `kind` has several elsewhere.
Kind = Annotated[str, Field(max_length=8, pattern="^(activity|model|effect)$")]
BegunKind = Annotated[str, Field(max_length=8, pattern="^(activity|model|effect|node)$")]
PureKind = Annotated[str, Field(max_length=8, pattern="^(activity|model|value)$")]
Key = Annotated[str, NotBlank(KEY_MAX)]
Index = Annotated[int, Field(ge=0, le=INDEX_MAX)]
Seconds = Annotated[int, Field(ge=SECONDS_MIN, le=SECONDS_MAX)]
StepNumber = Annotated[int, Field(ge=1, le=INDEX_MAX)]
STEP = Field(None, description="The step that you believe is in progress; another one: 412.")


class TakeLease(RequestShape):
    """The right to work on a thread."""

    # The bar separates the parts of what an event hashes.
    name: Annotated[str, NotBlank(REPORTER_MAX, without="|")] = Field(
        description="Who works: a host, a process. The thread's page shows it."
    )
    seconds: Seconds = SECONDS_DEFAULT
    external: ExternalAgent | None = Field(
        None,
        description="What you say of yourself, as at a start: tools and nodes in it that the "
        "thread's own announcement has not may be begun as well.",
    )


class RenewLease(RequestShape):
    """A heartbeat."""

    seconds: Seconds = SECONDS_DEFAULT


class ReleaseLease(RequestShape):
    """The end of a lease."""

    as_: Annotated[str, OneOf(LEAVING)] = Field("queued", alias="as")
    reason: Reason = ""
    seconds: Annotated[int, Field(ge=1, le=YEAR_SECONDS)] | None = Field(
        None, description="With `sleeping`: for how long."
    )

    @model_validator(mode="after")
    def _sleeps_for_a_time(self) -> Self:
        if (self.as_ == "sleeping") != (self.seconds is not None):
            raise PydanticCustomError("seconds", "seconds go with sleeping, and only with it")
        return self


class ReportThought(RequestShape):
    """The agent's reason for its next action; `n` is its index within its node and step."""

    node: Node
    text: Annotated[str, NotBlank(THOUGHT_MAX)]
    n: Index | None = None


Thoughts = Annotated[list[ReportThought], Field(max_length=THOUGHTS_MAX)]


class ReportCheckpoint(RequestShape):
    """The end of a step: what it changed, or the whole state after it."""

    id: Id | None = Field(None, description="Your own id of it, by which it is committed once.")
    step: StepNumber | None = STEP
    parent: Id | None = Field(None, description="Another checkpoint of the thread than the head.")
    nodes: Annotated[list[Node], Field(max_length=NODES_MAX)] = Field(default_factory=list)
    next_nodes: Annotated[list[Node], Field(max_length=NODES_MAX)] = Field(default_factory=list)
    delta: Json | None = Field(
        None, description="`set`, `append`, `merge`: by channel; `unset`: channels."
    )
    state: Json | None = Field(
        None, description=f"Instead of a delta; at most {LIMITS.state_bytes:,} bytes."
    )
    taken: Annotated[list[Index], Field(max_length=100)] = Field(
        default_factory=list, description="Messages that are in the state now, by `seq`."
    )
    thoughts: Thoughts = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.delta is not None and self.state is not None:
            raise PydanticCustomError("form", "takes a delta or a state, not both")
        return self


class SaveState(RequestShape):
    """The whole state of an agent, to be kept under a name."""

    name: Annotated[str, NotBlank(NAME_MAX)] = Field(
        description="What it is saved under, such as an id of the conversation."
    )
    bucket: Annotated[str, NotBlank(AGENT_MAX)] = Field(
        BUCKET, description="Where names are unique; each bucket is shown as an agent."
    )
    state: Json = Field(description=f"The whole of it, at most {LIMITS.state_bytes:,} bytes.")
    after: Index | None = Field(
        None,
        description="The `number` of the checkpoint that you loaded, 0 before the first: 412 where "
        "another one was saved since.",
    )


class AtPosition(RequestShape):
    """A position in the step in progress."""

    step: StepNumber | None = STEP
    node: Node
    index: Index = 0
    key: Key

    @property
    def at(self) -> dict[str, Any]:
        """Node, index and key."""
        return {"node": self.node, "index": self.index, "key": self.key}


class ReportedGate(RequestShape):
    """Stop for people before an effect."""

    title: Annotated[str, NotBlank(300)]
    description: Annotated[str, Field(max_length=100_000)] = ""
    risk: Risk = DEFAULT_RISK
    expires_in: Annotated[float, Field(gt=0, le=YEAR_SECONDS)] | None = None


class BeginActivity(AtPosition):
    """A call that the agent is about to make."""

    kind: BegunKind = Field(
        "activity", description="`node`: no call, only what policies say of the node itself."
    )
    tool: Tool
    args: Json = Field(default_factory=dict)
    gate: ReportedGate | None = Field(None, description="Of an effect: ask people first.")


class CallUsage(RequestShape):
    """The resources that a call used."""

    model: Annotated[str, Field(max_length=200)] | None = None
    tokens: Annotated[int, Field(ge=0, le=10**12)] | None = None
    cost: Annotated[str, Field(max_length=16, pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?$")] | None = None
    milliseconds: Annotated[int, Field(ge=0, le=10**12)] | None = None


class SettleActivity(AtPosition):
    """The result of a call."""

    kind: Kind = "activity"
    tool: Tool
    args: Json = Field(default_factory=dict, description="As it was called with; not of an effect.")
    state: Literal["done", "failed", "unknown"]
    result: Any = None
    error: str = Field("", description="Cut off after 10,000 characters.")
    usage: CallUsage | None = None


class ActivityRecord(RequestShape):
    """A pure call that is done."""

    node: Node
    index: Index = 0
    key: Key
    kind: PureKind = "value"
    tool: Annotated[str, Field(max_length=TOOL_MAX)] = ""
    args: Any = None
    result: Any = None
    usage: CallUsage | None = None


class RecordActivities(RequestShape):
    """Pure calls that are done, kept in one go."""

    checkpoint: Id | None = Field(None, description="They follow this one; else the head.")
    records: Annotated[list[ActivityRecord], Field(min_length=1, max_length=RECORDS_MAX)]


class SettleUndo(RequestShape):
    """The result of undoing an effect."""

    result: Any = None
    error: str = Field(
        "",
        description="Why it could not be undone; empty: it was. Cut off after 10,000 characters.",
    )


class AskQuestion(RequestShape):
    """A question to people, without an action."""

    question: Annotated[str, NotBlank(100_000)]
    schema_: Json | None = Field(None, alias="schema", description="JSON Schema of the answer.")
    description: Annotated[str, Field(max_length=100_000)] = ""
    risk: Risk = DEFAULT_RISK
    expires_in: Annotated[float, Field(gt=0, le=YEAR_SECONDS)] | None = None


class ProposeEffect(RequestShape):
    """An effect that people decide on now and that is begun later, at the same position."""

    tool: Tool
    args: Json = Field(default_factory=dict)
    gate: ReportedGate | None = None


class AskOne(RequestShape):
    """One request: an interrupt in Agent Inbox's form, a question, or an effect to be begun."""

    node: Node
    index: Index = 0
    key: Key
    interrupt: Json | None = None
    question: AskQuestion | None = None
    effect: ProposeEffect | None = Field(
        None, description="`answer` is then what to begin it for: with the same `args` and `gate`."
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if sum(form is not None for form in (self.interrupt, self.question, self.effect)) != 1:
            raise PydanticCustomError("form", "takes an interrupt, a question or an effect")
        return self


class AskPeople(RequestShape):
    """Requests, all opened by one call; sent again, it answers with what people said."""

    step: StepNumber | None = STEP
    ask: Annotated[list[AskOne], Field(min_length=1, max_length=QUESTIONS_MAX)]


class ReportProgress(RequestShape):
    """The progress of the work: shown, not saved."""

    node: Node
    text: Annotated[str, Field(max_length=300)] = ""
    done: Annotated[float, Field(ge=0)] | None = None
    total: Annotated[float, Field(ge=0)] | None = None
    stream: Annotated[str, Field(max_length=4_000)] | None = Field(
        None, description="What a model has said so far; empty: it has ended."
    )


class ReportEvents(RequestShape):
    """Thoughts, which are kept, and progress, which is not."""

    step: StepNumber | None = STEP
    thoughts: Thoughts = Field(default_factory=list)
    progress: ReportProgress | None = None
