"""What requests carry, as strict shapes: no value is turned into another type."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError

from dashboard.errors import FAULTS_MAX

# JSON has no ids, so the text of one is taken; everything else keeps its type.
Id = Annotated[UUID, Field(strict=False)]
Changes = Annotated[
    dict[str, Any], Field(description="New values by channel; each replaces the old one.")
]


class Asked(BaseModel):
    """A body without unknown members."""

    model_config = ConfigDict(strict=True, extra="forbid")

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


Config = Annotated[
    dict[str, Any], Field(description="Model, temperature, prompt texts: what nodes read there.")
]


class StartThread(Asked):
    """A new thread, or the continuation of the one of that name."""

    agent: str
    input: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None
    title: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    pause_at: str = Field("", description="A node to stop before.")
    config: Config = Field(default_factory=dict)


class Nothing(Asked):
    """An empty body."""


class Pause(Asked):
    """A pause at the next step, or before a node."""

    before_node: str = ""


class Settle(Asked):
    """The answer to what a thread asks about one effect."""

    activity: Id = Field(description="The effect: `why_waiting.facts.activity`.")
    verdict: str = Field(
        description="`happened` (with `result`), `not_happened` or `undo` for one whose outcome is "
        "unknown; `keep`, `again` or `undo_again` for one that is asked with other arguments."
    )
    result: Any = Field(None, description="What it answered, if it happened: any JSON.")
    reason: str = ""


class ChooseCode(Asked):
    """What shall become of a thread whose agent's code changed."""

    choice: Literal["pin", "accept", "fork", "unpin"]


class ChooseCodeMany(Asked):
    """The same choice for several threads, each by itself."""

    choice: Literal["pin", "accept", "fork", "unpin"]
    threads: Annotated[list[Id], Field(min_length=1, max_length=200)]


class Cancel(Asked):
    """The end of a thread."""

    reason: str = ""
    undo: bool = Field(
        False, description="Take back what it did outside, last first, before it is cancelled."
    )
    undo_unknown: bool = Field(
        False, description="With `undo`: also what may have happened, where it has an undo."
    )


class SendInput(Asked):
    """A message for the next step: any JSON that fits an item of the agent's inbox."""

    message: Any


class Edit(Asked):
    """New values over the head; `reason` is required unless it is a preview."""

    changes: Changes
    reason: str = ""


class Fork(Asked):
    """A new thread from a checkpoint of this one."""

    checkpoint: Id
    changes: Changes = Field(default_factory=dict)
    title: str = ""
    effects: Literal["ask", "run"] = "ask"
    reason: str = ""
    config: Config = Field(
        default_factory=dict,
        description="What differs from the thread's own configuration; null takes a member away.",
    )


class RollBack(Asked):
    """The head moved back; `reason` is required unless it is a preview."""

    checkpoint: Id
    reason: str = ""
    compensate: bool = Field(True, description="Undo the effects after it; false leaves them done.")
    run_on: bool = False


class Decide(Asked):
    """A verdict on exactly the proposal of this hash."""

    verdict: str = Field(description="approve, edit, respond or reject")
    proposal_hash: str = Field(description="`standing_hash` of what was seen.")
    comment: str = Field("", description="Needed to reject, and to ask the agent at a gate.")
    args: Any = Field(
        None, description="edit: all arguments anew; respond to a question: the answer."
    )
    what_next: Literal["", "go_on", "stop", "roll_back"] = Field(
        "", description="reject: let the agent go on, stop the thread, or stop and undo."
    )


class DecideOne(Decide):
    """One verdict of many."""

    id: Id


class DecideMany(RootModel[list[DecideOne]]):
    """Verdicts on several requests, approve or reject, each with the hash that was seen; 1 to 200.

    What is decided on its own page only is refused here, for that item alone.
    """

    model_config = ConfigDict(strict=True)
    root: Annotated[list[DecideOne], Field(min_length=1, max_length=200)]
