"""Arguments of the tools: bodies of API calls, with what stands in paths and headers there."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from approvals.states import DEFAULT_RISK, Risk
from checkpoints.limits import AGENT_MAX, NAME_MAX, NODE_MAX
from dashboard.external import requests as external
from dashboard.fields.filters import TOOL, given_at
from dashboard.fields.thread_filters import THREADS
from dashboard.kit.api.idempotency_key import KEY_MAX
from dashboard.kit.api.long_poll import WAIT_MAX
from dashboard.kit.api.parameters import LIMIT_MAX, SEQ_MAX, TEXT_MAX
from dashboard.kit.filters import taking
from dashboard.kit.shapes import requests
from dashboard.kit.shapes.texts import Id, NotBlank, Title
from dashboard.questions.ask import AskRecord as AskRecordInput
from dashboard.threads.files import PIECE, PIECE_MAX, READ_MAX
from dashboard.threads.fork import Fork as ForkInput
from dashboard.threads.reveal import Reveal as RevealInput
from dashboard.threads.roll_back import RollBack as RollBackInput
from workers.external.bounds import BUCKET, SECONDS_MAX, SECONDS_MIN

AGENT: Final = "mcp-requests"
LEASE_SECONDS: Final = 600
Json = dict[str, Any]


class Arguments(requests.RequestShape):
    """Arguments of a tool; those named in `apart` are no part of the call's body."""

    apart: ClassVar[frozenset[str]] = frozenset(
        {"thread", "approval", "memory", "preview", "idempotency_key", "expected_version"}
    )

    def body(self) -> Json:
        """The body of the call: what was sent, nothing filled in."""
        return self.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude={*self.apart}
        )

    def headers(self) -> dict[str, str]:
        """The headers that arguments stand for."""
        named = {
            "Idempotency-Key": getattr(self, "idempotency_key", None),
            "If-Match": getattr(self, "expected_version", None),
        }
        return {name: str(value) for name, value in named.items() if value is not None}


KeyText = Annotated[str, Field(min_length=1, max_length=KEY_MAX, pattern=r"^[!-~]([ -~]*[!-~])?$")]
Key = Annotated[
    KeyText | None,
    Field(
        description="A name of your choice for this change, such as a UUID. Sent again with the "
        "same arguments it changes nothing and gives the first answer."
    ),
]
Version = Annotated[
    Annotated[int, Field(ge=0, le=10**18 - 1)] | None,
    Field(description="The thread's `version` that you looked at: refused when it has moved."),
]
Preview = Annotated[bool, Field(description="Answer what it would do, and do nothing.")]
Text = Annotated[str, Field(max_length=TEXT_MAX)]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]


class Start(Arguments):
    """A new thread, or the continuation of the one of that name."""

    agent: Annotated[str, NotBlank(AGENT_MAX)] = Field(description="The name of an agent.")
    input: Json = Field(default_factory=dict, description="Values by channel of its state.")
    name: Annotated[str, NotBlank(NAME_MAX)] | None = Field(
        None, description="Your own id of it: started again, the same thread continues."
    )
    title: Title = ""
    labels: requests.Labels = Field(default_factory=dict)
    pause_at: Annotated[str, Field(max_length=NODE_MAX)] = Field(
        "", description="A node to stop before."
    )
    config: requests.Config = Field(default_factory=dict)
    idempotency_key: Key = None


@taking(given_at(THREADS, TOOL))
class ListThreads(Arguments):
    """Which threads, newest first by their last change of status."""

    cursor: Text = Field("", description="`next_cursor` of the page before.")
    limit: Limit = 50


class OneThread(Arguments):
    """One thread."""

    thread: Id


class OneApproval(Arguments):
    """One request for approval."""

    approval: Id


class Events(OneThread):
    """Events after a sequence number, oldest first."""

    after: Annotated[int, Field(ge=0, le=SEQ_MAX)] = 0
    kind: Text = Field("", description="Kinds or nouns, by commas.")
    limit: Limit = 50


class Files(OneThread):
    """Files of the state at a checkpoint, and files that the thread stored."""

    checkpoint: Id | None = Field(None, description="Another one than the head.")
    after: Annotated[int, Field(ge=0, le=SEQ_MAX)] = Field(
        0, description="`next_after` of the page before."
    )
    limit: Limit = 50


class ReadFile(OneThread):
    """A piece of a file of the thread."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] = Field(
        description="`$artifact` of a reference, or `sha256` of a stored file."
    )
    checkpoint: Id | None = Field(
        None, description="Where a state refers to it, if it is another one than the head."
    )
    offset: Annotated[int, Field(ge=0, le=READ_MAX)] = Field(
        0, description="`next_offset` of the piece before."
    )
    length: Annotated[int, Field(ge=1, le=PIECE_MAX)] = PIECE


class Wait(OneThread):
    """Until the thread has changed, or the time is up."""

    version: Version = None
    seconds: Annotated[int, Field(ge=1, le=WAIT_MAX)] = 30


class Reveal(OneThread, RevealInput):
    """An encrypted channel, and at which checkpoint; without one at the head."""


class AskRecord(Arguments, AskRecordInput):
    """A question to the record, and what of it is searched."""

    apart: ClassVar[frozenset[str]] = frozenset()


class Fork(OneThread, ForkInput):
    """A new thread from a checkpoint of this one."""

    preview: Preview = False
    idempotency_key: Key = None


class RollBack(OneThread, RollBackInput):
    """The head moved back; `reason` is required unless it is a preview."""

    preview: Preview = False
    expected_version: Version = None
    idempotency_key: Key = None


class SaveState(Arguments, external.SaveState):
    """The whole state of an agent, to be kept under a name."""

    idempotency_key: Key = None


class LoadState(Arguments):
    """A state that was saved under a name."""

    name: Annotated[str, NotBlank(NAME_MAX)]
    bucket: Annotated[str, NotBlank(AGENT_MAX)] = BUCKET
    number: external.Index | None = Field(
        None, description="An earlier checkpoint than the newest."
    )


class OfPeople(Arguments):
    """A request to people; the same name is the same request, however often it is sent."""

    apart: ClassVar[frozenset[str]] = frozenset({"name", "agent", "seconds"})
    name: Annotated[str, NotBlank(NAME_MAX)] = Field(
        description="Your own id of this request. Sent again, it answers with the outcome."
    )
    agent: Annotated[str, NotBlank(AGENT_MAX)] = Field(
        AGENT, description="Who asks, as people see it."
    )
    description: Annotated[str, Field(max_length=100_000)] = ""
    risk: Risk = DEFAULT_RISK
    expires_in: Annotated[float, Field(gt=0, le=external.YEAR_SECONDS)] | None = Field(
        None, description="Seconds until the request expires."
    )


class RequestApproval(OfPeople):
    """Call that you make once people have approved exactly these arguments."""

    tool: requests.Tool
    args: Json = Field(default_factory=dict, description="Exactly what you would call it with.")
    title: Annotated[str, NotBlank(300)]
    seconds: Annotated[int, Field(ge=SECONDS_MIN, le=SECONDS_MAX)] = Field(
        LEASE_SECONDS, description="How long you need for the call before `report_outcome`."
    )


class Ask(OfPeople):
    """A question to people, without an action."""

    question: Annotated[str, NotBlank(100_000)]
    schema_: Json | None = Field(None, alias="schema", description="JSON Schema of the answer.")


class ReportOutcome(OneThread):
    """Outcome of a call that people approved."""

    lease: Id = Field(description="`lease` of the answer that let you call.")
    tool: requests.Tool
    state: Literal["done", "failed", "unknown"] = Field(
        description="`failed`: it did not happen. `unknown`: nobody knows; a person looks into it."
    )
    result: Any = None
    error: Annotated[str, Field(max_length=10_000)] = ""
