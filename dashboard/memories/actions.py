"""Remember, correct and forget: what people and external agents do with memory."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.memories import OWNER_MAX, TEXT_MAX, Kind, MemoryRow, NewMemory, Scope
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid
from dashboard.identity.memory_viewers import seen_by
from dashboard.identity.permissions import Actor, may
from dashboard.kit.action import Action, Target, by_id
from dashboard.kit.inputs import RequiredReason
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id, NotBlank

from .reads import seen_memory

SECONDS_MAX: Final = 10 * 365 * 86_400
_PERSON: Final = re.compile(r"user:[0-9]{1,9}")
Text = Annotated[str, NotBlank(TEXT_MAX)]
Metadata = Annotated[
    dict[str, Any],
    Field(
        description="What belongs to the text, as JSON of at most 16 KiB. With "
        "`$item: {namespace, key}` it is an item of a store: it takes the place of the former one "
        "there."
    ),
]


class Remember(RequestShape):
    """A text that agents can recall."""

    text: Text
    scope: Scope = Field(
        "workspace",
        description="Who reads it: one thread and its forks, all threads of an agent, all that "
        "work for a person, or the whole workspace.",
    )
    owner: Annotated[str, Field(max_length=OWNER_MAX)] = Field(
        "",
        description="The thread's id, the agent's name or the person (`user:7`); empty for the "
        "workspace.",
    )
    kind: Kind = Field("fact", description="A conversation, a fact or a document.")
    metadata: Metadata = Field(default_factory=dict)
    outside: bool = Field(
        False, description="The text came from outside, such as a page or a mail."
    )
    source: Literal["person", "import"] = Field(
        "person", description="`import` where it is taken over from another store."
    )
    key: Annotated[str, Field(max_length=NAME_MAX)] = Field(
        "", description="Your own name for it: sent again by you, it is remembered once."
    )
    expires_in: int | None = Field(
        None, ge=1, le=SECONDS_MAX, description="Seconds after which it goes; without: it stays."
    )


class CorrectMemory(RequestShape):
    """Another text; the former one stays on the memory's page."""

    text: Text
    metadata: Metadata | None = Field(None, description="Without it, it stays as it is.")
    reason: RequiredReason
    revision: int | None = Field(
        None, ge=1, description="The revision that you looked at; another one is refused."
    )


class ForgetMemory(RequestShape):
    """The reason to delete a memory; agents that refer to it read this reason."""

    reason: RequiredReason


class ForgetAfter(RequestShape):
    """All that a thread has remembered since one of its checkpoints."""

    thread: Id = Field(description="The thread's id.")
    checkpoint: Id = Field(description="The id of the checkpoint.")
    reason: RequiredReason


class MemoriesForgotten(Shape):
    """The number of memories that were deleted."""

    forgotten: int


def remember(actor: Actor, wanted: Remember) -> MemoryRow:
    """Keep a memory; the owner has to be there. Items of others need the right to correct."""
    owner = wanted.owner.strip()
    _check_owner(actor, wanted.scope, owner)
    new = NewMemory(
        scope=wanted.scope,
        owner=owner,
        kind=wanted.kind,
        text=wanted.text,
        metadata=wanted.metadata,
        outside=wanted.outside,
        source=wanted.source,
        seconds=wanted.expires_in,
    )
    once = sha256(f"{actor.person}|{wanted.key}".encode()).hexdigest() if wanted.key else None
    return store.remember(
        actor.workspace,
        new,
        actor=actor.id,
        key=once,
        replaces_others=may(actor, CORRECT.right),
    )


def correct(actor: Actor, wanted: CorrectMemory, memory_id: UUID) -> MemoryRow:
    """Give a memory another text; agents recall that one from then on."""
    seen_memory(actor, memory_id)
    return store.correct_memory(
        memory_id,
        workspace=actor.workspace,
        text=wanted.text,
        metadata=wanted.metadata,
        reason=wanted.reason.strip(),
        actor=actor.id,
        revision=wanted.revision,
    )


def forget(actor: Actor, wanted: ForgetMemory, memory_id: UUID) -> MemoryRow:
    """Delete the text of a memory and its former ones."""
    store.refuse_gone(seen_memory(actor, memory_id))
    n = store.forget_memories(
        [memory_id],
        workspace=actor.workspace,
        reason=wanted.reason.strip(),
        actor=actor.id,
    )
    row = queries.memory(memory_id, workspace=actor.workspace)
    if not n:
        store.refuse_gone(row)  # somebody else was faster
    return row


def remembered_since(actor: Actor, thread: UUID, checkpoint: UUID) -> list[MemoryRow]:
    """Memories of a thread since a checkpoint, as far as the person may see it.

    Raises NotFound.
    """
    queries.thread(thread, workspace=actor.workspace)
    target = queries.checkpoint(thread, checkpoint)
    rows = queries.remembered_after(thread, branch=target.branch, step=target.step)
    return seen_by(actor, rows)


def forget_after(actor: Actor, wanted: ForgetAfter) -> MemoriesForgotten:
    """Delete what a thread has remembered since a checkpoint, and nothing else."""
    rows = remembered_since(actor, wanted.thread, wanted.checkpoint)
    n = store.forget_memories(
        [row.id for row in rows],
        workspace=actor.workspace,
        reason=wanted.reason.strip(),
        actor=actor.id,
    )
    return MemoriesForgotten(forgotten=n)


def _check_owner(actor: Actor, scope: Scope, owner: str) -> None:
    """Raise Invalid for an owner that does not fit the scope, or is not there."""
    if scope == "workspace":
        if owner:
            raise Invalid("$.owner", "is empty for the workspace")
        return
    if not owner:
        raise Invalid("$.owner", f"is required: which {scope}?")
    if scope == "person" and not _PERSON.fullmatch(owner):
        raise Invalid("$.owner", "is a person such as user:7")
    if scope == "agent" and len(owner) > AGENT_MAX:
        raise Invalid("$.owner", f"has at most {AGENT_MAX} characters")
    if scope == "thread":
        try:
            queries.thread(UUID(owner), workspace=actor.workspace)
        except (ValueError, NotFound):
            raise Invalid("$.owner", "is not a thread of this workspace") from None


MEMORY: Final = Target(
    name="memory",
    find=by_id("There is no such memory; `memories list` shows them."),
    metavar="ID",
    page="memory",
)
REMEMBER: Final = Action(
    name="memory.remember",
    call_id="memories_remember",
    right="remember",
    takes=Remember,
    answers=MemoryRow,
    status=201,
    secret=True,  # no copy of the text outlives it; `key` makes it once
    perform=remember,
    events=(WorkspaceEventKind.MEMORY_REMEMBERED,),
    summary="Remember a text",
    description="Agents recall it by its words. The log records the change without the text.",
    help="keeps a text that agents can recall",
    done=lambda *_: "Remembered.",
    examples='memories remember --text "Weber is paid within 30 days."\n'
    'memories remember --text "Answer in German." --scope person --owner user:7',
)
CORRECT: Final = Action(
    name="memory.correct",
    call_id="memories_correct",
    right="memory",
    target=MEMORY,
    takes=CorrectMemory,
    answers=MemoryRow,
    secret=True,
    perform=correct,
    events=(WorkspaceEventKind.MEMORY_CORRECTED,),
    summary="Correct a memory",
    description="It keeps its id and has the next revision. A thread that recalled the former "
    "text keeps that until its step ends.",
    help="gives a memory another text",
    done=lambda *_: "Corrected.",
    examples='memories correct ID --text "Weber is paid within 14 days." --reason "New terms"',
)
FORGET: Final = Action(
    name="memory.forget",
    call_id="memories_forget",
    right="memory",
    target=MEMORY,
    takes=ForgetMemory,
    answers=MemoryRow,
    perform=forget,
    events=(WorkspaceEventKind.MEMORY_FORGOTTEN,),
    summary="Delete a memory",
    description="Its text and its former texts go for good. What refers to it learns that it is "
    "gone, and why. Refused while a legal hold is set on the thread that it came from.",
    help="deletes a memory",
    done=lambda *_: "Deleted.",
    examples='memories forget ID --reason "It is wrong"',
)
FORGET_AFTER: Final = Action(
    name="memory.forget_after",
    call_id="memories_forget_after",
    right="memory",
    takes=ForgetAfter,
    answers=MemoriesForgotten,
    perform=forget_after,
    events=(WorkspaceEventKind.MEMORY_FORGOTTEN,),
    summary="Delete what a thread has remembered since a checkpoint",
    description="A rollback does not reach memory: this deletes what the thread remembered after "
    "the checkpoint, and nothing else.",
    help="deletes what a thread has remembered since a checkpoint",
    done=lambda _, result: (
        f"Deleted: {result.forgotten:,} memor{'y' if result.forgotten == 1 else 'ies'}."
    ),
    examples='memories forget-after --thread ID --checkpoint ID --reason "It was a test"',
)
