"""Request, approve and refuse the erasure of a thread; what is approved is carried out at once.

Nobody erases alone: the person who requests it cannot approve it, through any door.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction

from checkpoints import queries, store
from checkpoints.errors import GatepostError
from checkpoints.queries.erasures import requests
from checkpoints.queries.erasures.requests import Counts, ErasureRow, HoldRow, Selection
from dashboard.errors import of, translated
from dashboard.fields.validation import REASON_MAX, check_text
from dashboard.identity.permissions import Actor, require

# As long as somebody waits for an answer; the sweep does the rest.
AT_ONCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """The reach of an erasure; `obstacle` says why it cannot be requested now."""

    scope: str
    selection: Selection
    counts: Counts
    obstacle: str


@translated()
def preview_erasure(actor: Actor, thread_id: UUID, scope: str, reason: str = "") -> ErasurePlan:
    """Count what an erasure of a thread would drop; nothing is changed."""
    require(actor, "request_erasure")
    check_text("$.reason", reason, REASON_MAX)
    thread = queries.thread(thread_id, workspace=actor.workspace)
    selection = requests.selection(thread.id, workspace=actor.workspace, scope=scope)
    obstacle = ""
    try:
        store.refuse_erasure(thread.id, selection, unfinished=False)
    except GatepostError as error:
        obstacle = of(error).detail
    return ErasurePlan(scope, selection, requests.counts(selection.ids), obstacle)


@translated()
def request_erasure(actor: Actor, thread_id: UUID, scope: str, reason: str) -> ErasureRow:
    """Ask for the erasure of a thread and all that shares its past; somebody else approves it."""
    require(actor, "request_erasure")
    check_text("$.reason", reason, REASON_MAX, required=True)
    thread = queries.thread(thread_id, workspace=actor.workspace)
    return store.request_erasure(
        thread.id,
        workspace=actor.workspace,
        scope=scope,
        reason=reason.strip(),
        actor=actor.id,
        name=actor.name,
    )


@translated()
def decide_erasure(actor: Actor, erasure_id: UUID, approve: bool, comment: str = "") -> ErasureRow:
    """Approve a request for erasure, which carries it out, or refuse it.

    FourEyes for the person who requested it; NotAllowedNow where the threads have changed since.
    """
    require(actor, "erase")
    check_text("$.comment", comment, REASON_MAX, required=not approve)
    row = store.decide_erasure(
        erasure_id,
        workspace=actor.workspace,
        approve=approve,
        actor=actor.id,
        name=actor.name,
        comment=comment.strip(),
    )
    if row.state == "approved":
        # Files go with it: not before the approval is committed.
        act = partial(store.carry_out_erasure, row.id, workspace=row.workspace)
        transaction.on_commit(partial(act, seconds=AT_ONCE_SECONDS))
    return requests.erasure(row.id, workspace=actor.workspace)


@translated()
def erasures(actor: Actor) -> list[ErasureRow]:
    """All requests of the workspace for erasure: those that wait first, then the newest."""
    require(actor, "read")
    return requests.erasures(actor.workspace)


@translated()
def erasure(actor: Actor, erasure_id: UUID) -> ErasureRow:
    """One of them; raises Missing."""
    require(actor, "read")
    return requests.erasure(erasure_id, workspace=actor.workspace)


@translated()
def holds(actor: Actor) -> list[HoldRow]:
    """Legal holds of the workspace: those that are set first, then the newest."""
    require(actor, "read")
    return requests.holds(actor.workspace)


@translated()
def set_hold(actor: Actor, thread_id: UUID, reason: str) -> HoldRow:
    """Set a legal hold on a thread: nothing of it is erased until it is lifted."""
    require(actor, "hold")
    check_text("$.reason", reason, REASON_MAX, required=True)
    return store.set_hold(
        thread_id, workspace=actor.workspace, reason=reason.strip(), actor=actor.id
    )


@translated()
def lift_hold(actor: Actor, thread_id: UUID, reason: str) -> HoldRow:
    """Lift the legal hold of a thread."""
    require(actor, "hold")
    check_text("$.reason", reason, REASON_MAX, required=True)
    queries.thread(thread_id, workspace=actor.workspace)
    return store.lift_hold(
        thread_id, workspace=actor.workspace, reason=reason.strip(), actor=actor.id
    )
