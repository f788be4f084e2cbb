"""Request, approve and refuse the erasure of a thread; what is approved is carried out immediately.

Nobody erases alone: the person who requests it cannot approve it, by page, call or command.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, Self
from uuid import UUID

from django.db import transaction
from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import GatepostError
from checkpoints.queries.erasures import requests
from checkpoints.queries.erasures.requests import Counts, ErasureRow, Selection
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, Missing, of
from dashboard.fields.validation import REASON_MAX, is_blank
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Preview, Target
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank, Reason
from dashboard.threads.target import THREAD

# As long as somebody waits for an answer; the sweep does the rest.
AT_ONCE_SECONDS = 10.0


class ErasureScope(RequestShape):
    """Which threads."""

    scope: Literal["thread", "family"] = Field(
        default="thread",
        description="`thread`: with its forks and children. `family`: including its origin.",
    )


class RequestErasure(ErasureScope):
    """Which threads, and why."""

    reason: Annotated[str, NotBlank(REASON_MAX)] = Field(
        description="It stays in the log: write nothing into it that has to be erased."
    )


class DecideErasure(RequestShape):
    """The verdict of a second person."""

    verdict: Literal["approve", "refuse"]
    comment: Reason = Field(default="", description="Kept in the log.")


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """The reach of an erasure; `obstacle` says why it cannot be requested now.

    `memories` came from these threads and go with them; others read `shared` of them as well.
    """

    scope: str
    selection: Selection
    counts: Counts
    obstacle: str
    memories: int = 0
    shared: int = 0


class ErasurePreview(Shape):
    """The reach of an erasure; `obstacle` is empty where it can be requested."""

    scope: str
    threads: list[UUID]
    forks: int
    unfinished: list[UUID]
    held: list[UUID]
    rows: int
    bytes: int
    files: int
    file_bytes: int
    memories: int = Field(description="what came from these threads, and goes with them")
    shared_memories: int = Field(description="those of them that other threads read")
    obstacle: str

    @classmethod
    def of(cls, plan: ErasurePlan) -> Self:
        """The plan for the wire."""
        selection, counts = plan.selection, plan.counts
        return cls(
            scope=plan.scope,
            threads=selection.ids,
            forks=selection.n_forks,
            unfinished=[one.id for one in selection.unfinished],
            held=[one.id for one in selection.held],
            rows=counts.rows,
            bytes=counts.bytes,
            files=counts.files,
            file_bytes=counts.file_bytes,
            memories=plan.memories,
            shared_memories=plan.shared,
            obstacle=plan.obstacle,
        )


def erasure_plan(actor: Actor, scope: str, thread_id: UUID) -> ErasurePlan:
    """Count what an erasure of a thread would drop; nothing is changed."""
    thread = queries.thread(thread_id, workspace=actor.workspace)
    selection = requests.selection(thread.id, workspace=actor.workspace, scope=scope)
    obstacle = ""
    try:
        store.refuse_erasure(thread.id, selection, unfinished=False)
    except GatepostError as error:
        obstacle = of(error).detail
    memories = queries.memories_of_threads(selection.ids, workspace=actor.workspace)
    return ErasurePlan(scope, selection, requests.counts(selection.ids), obstacle, *memories)


def preview_erasure(actor: Actor, wanted: ErasureScope, thread_id: UUID) -> ErasurePreview:
    """The content that an erasure of a thread would drop, as counted now."""
    return ErasurePreview.of(erasure_plan(actor, wanted.scope, thread_id))


def request_erasure(actor: Actor, wanted: RequestErasure, thread_id: UUID) -> ErasureRow:
    """Ask for the erasure of a thread and all that shares its past; somebody else approves it."""
    thread = queries.thread(thread_id, workspace=actor.workspace)
    return store.request_erasure(
        thread.id,
        workspace=actor.workspace,
        scope=wanted.scope,
        reason=wanted.reason.strip(),
        actor=actor.id,
        name=actor.name,
    )


def decide_erasure(actor: Actor, wanted: DecideErasure, erasure_id: UUID) -> ErasureRow:
    """Approve a request for erasure, which carries it out, or refuse it.

    FourEyes for the person who requested it; NotAllowedNow where the threads have changed since.
    """
    approve = wanted.verdict == "approve"
    if not approve and is_blank(wanted.comment):
        raise Invalid("$.comment", "is required")
    row = store.decide_erasure(
        erasure_id,
        workspace=actor.workspace,
        approve=approve,
        actor=actor.id,
        name=actor.name,
        comment=wanted.comment.strip(),
    )
    if row.state == "approved":
        # Files go with it: not before the approval is committed.
        act = partial(store.carry_out_erasure, row.id, workspace=row.workspace)
        transaction.on_commit(partial(act, seconds=AT_ONCE_SECONDS))
    return requests.erasure(row.id, workspace=actor.workspace)


def _erasure_named(_: Actor, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such erasure in this workspace.") from None


# What is answered is the request or the hold, not the thread.
THREAD_OF_RECORD = replace(THREAD, detail=None)
ERASURE = Target(name="erasure", find=_erasure_named, metavar="ID", page="erasure")
ERASE = Action(
    name="thread.erase",
    right="request_erasure",
    target=THREAD_OF_RECORD,
    takes=RequestErasure,
    answers=ErasureRow,
    status=201,
    preview=Preview(takes=ErasureScope, answers=ErasurePreview, look=preview_erasure),
    perform=request_erasure,
    events=(WorkspaceEventKind.ERASURE_REQUESTED,),
    summary="Request the erasure of a thread and all that shares its past",
    description="Nothing is erased before a second person approves. All threads that go with "
    "it must be finished by then. With `?preview=1` nothing is requested, and 200 answers "
    "what would go.",
    help="requests an erasure",
    done=lambda *_: "Requested. Nothing is erased before somebody else approves it.",
    examples='erase request 01a2f0c3 --reason "consent withdrawn" --scope family --yes',
)
DECIDE_ERASURE = Action(
    name="erasure.decide",
    right="erase",
    target=ERASURE,
    takes=DecideErasure,
    answers=ErasureRow,
    perform=decide_erasure,
    events=(WorkspaceEventKind.ERASURE_APPROVED, WorkspaceEventKind.ERASURE_REFUSED),
    summary="Approve an erasure, which carries it out, or refuse it",
    description="The person who requested it is refused with 403. 409 where the threads that "
    "belong to it have changed since, one of them is not finished, or a legal hold is set.",
    help="approves a request and erases",
    done=lambda wanted, _: (
        "Approved: the content is being erased." if wanted.verdict == "approve" else "Refused."
    ),
    examples="erase approve ID",
)
