"""Let another reviewer decide a request."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import Field

from approvals import queries
from approvals.deputies import changes
from approvals.deputies.changes import REASON_MAX
from approvals.notify.texts.kinds import PERSON_MAX
from approvals.queries import deputies
from approvals.queries.deputies import DeputyRow
from checkpoints.states import EventKind
from dashboard.fields.shapes import Option
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.dialog import dialog
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank

from .deputies import possible_deputies
from .target import APPROVAL


class HandOver(RequestShape):
    """To whom one request goes."""

    to: Annotated[str, NotBlank(PERSON_MAX)] = Field(description="The user name of a reviewer.")
    reason: Annotated[str, Field(max_length=REASON_MAX)] = Field(
        default="", description="For them to read; it is on record."
    )


def hand_over(actor: Actor, wanted: HandOver, approval_id: UUID) -> DeputyRow:
    """Let another reviewer decide an open request in the person's place."""
    with transaction.atomic():
        made = changes.hand_over(
            approval_id,
            workspace=actor.workspace,
            person=actor.person,
            actor=actor.id,
            to=wanted.to,
            reason=wanted.reason,
        )
        return deputies.deputy(made, workspace=actor.workspace)


HAND_OVER = Action(
    name="approval.hand_over",
    right="decide",
    target=APPROVAL,
    status=201,
    takes=HandOver,
    answers=DeputyRow,
    perform=hand_over,
    events=(EventKind.TURN_HANDED_OVER,),
    summary="Let another reviewer decide a request in your place",
    description="They are notified; you may still decide it yourself.",
    help="lets another reviewer decide one request",
    done=lambda _, row: f"Handed over: {row.deputy_name} can decide this in your place.",
)


def _hand_over(who: Actor, *_: object, approval_id: UUID) -> dict[str, Any]:
    return {
        "approval": queries.approval(approval_id, workspace=who.workspace),
        "options": {"to": [Option(one.name, one.shown) for one in possible_deputies(who)]},
    }


hand_over_page = dialog(HAND_OVER, "approvals/hand_over.html", _hand_over, fields=("to", "reason"))
