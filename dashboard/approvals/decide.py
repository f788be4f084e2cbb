"""Decide a request: approve, edit, answer, ask the agent or reject."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import connection
from pydantic import Field

from approvals import errors as refusals
from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.states import ALLOWING, WITH_ARGS, WhatNext
from checkpoints import queries as ground
from checkpoints.states import EventKind
from dashboard.errors import Invalid, of
from dashboard.fields.credentials import check_credentials, exempt_of
from dashboard.identity.permissions import Actor
from dashboard.identity.seats import seat_of
from dashboard.kit import second_person
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Hash, RequestShape
from dashboard.kit.shapes.texts import Comment, NotBlank
from dashboard.people import step_up

from .approvals import Approval
from .target import APPROVAL

WORD_MAX: Final = 40  # of a verdict; which ones there are says the request
Word = Annotated[str, NotBlank(WORD_MAX)]


class Decide(RequestShape):
    """A verdict on exactly the proposal of this hash."""

    verdict: Word = Field(description="One of `verdicts` of the request: approve, edit, ...")
    proposal_hash: Hash = Field(description="`standing_hash` of what was seen.")
    comment: Comment = Field(
        default="", description="Needed to reject, and to ask the agent at a gate."
    )
    args: Any = Field(
        default=None, description="edit: all arguments again; respond to a question: the answer."
    )
    what_next: WhatNext = Field(
        default="", description="reject: let the agent continue, stop the thread, or stop and undo."
    )


def decide(actor: Actor, wanted: Decide, approval_id: UUID) -> ApprovalRow:
    """Record the person's verdict on exactly the proposal they saw; the request afterwards."""
    if wanted.args is not None:
        _check_args(actor, wanted, approval_id)
    confirmed_at = step_up.confirmed_for(actor, approval_id, wanted.verdict)
    who = replace(reviewer_of(actor), confirmed_at=confirmed_at)
    try:
        return gates.decide(
            approval_id,
            workspace=actor.workspace,
            reviewer=who,
            verdict=wanted.verdict,
            proposal_hash=wanted.proposal_hash,
            comment=wanted.comment,
            args=wanted.args,
            what_next=wanted.what_next,
            # An operation that it settles: none is there without the other.
            then=partial(second_person.carry_out, actor=actor),
        )
    except refusals.FourEyes as error:
        refused = of(error)
        if connection.in_atomic_block:
            # The code that opened that transaction rolls it back now, and the logged try with it.
            row = queries.approval(approval_id, workspace=actor.workspace)
            refused.afterwards = partial(
                gates.note_refusal, row, reviewer=who, verdict=wanted.verdict, error=error
            )
        raise refused from error


def _check_args(actor: Actor, wanted: Decide, approval_id: UUID) -> None:
    """Refuse arguments that no verdict takes, and a credential unless the agent lets it through."""
    if wanted.verdict not in WITH_ARGS:
        raise Invalid("$.args", f"are not taken with the verdict {wanted.verdict}")
    row = queries.approval(approval_id, workspace=actor.workspace)
    agent = ground.agent_version(row.agent_version_id)
    exempt = [f"$.args{path[1:]}" for path in exempt_of(agent, row.tool)]
    check_credentials("$.args", wanted.args, exempt=exempt)


def reviewer_of(actor: Actor) -> gates.Reviewer:
    """The person as requests name them: also their user name, and their groups as teams."""
    user, teams = seat_of(actor)
    return gates.Reviewer(id=actor.id, name=actor.name, user=user, teams=teams)


def _decided(wanted: Decide, row: ApprovalRow) -> str:
    if row.status == "held":
        return f"It counts from {row.effective_at:%H:%M:%S} on; --take-back undoes it."
    if not row.open:
        return ""
    if wanted.verdict in ALLOWING:
        return "Recorded. Others still have to approve."
    return "Asked. The request stays open."


DECIDE = Action(
    name="approval.decide",
    right="decide",
    target=APPROVAL,
    takes=Decide,
    checked_apart=("args",),
    answers=Approval,
    shape=Approval.from_row,
    perform=decide,
    events=(EventKind.APPROVAL_DECIDED, EventKind.DECISION_RECORDED),
    summary="Approve, edit, ask the agent, answer or reject",
    description="One outcome: the second one gets 409 with the recorded one in `approval`.\n\n"
    "A verdict that others are missing for leaves the request `pending`; one that can be undone\n"
    "makes it `held` until `effective_at`.",
    help="decides a request",
    done=_decided,
)
