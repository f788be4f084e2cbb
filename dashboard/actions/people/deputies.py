"""Deputies of people who are away; part of `actions`.

Reviewers choose for themselves; admins, who look after people, choose for everybody.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from approvals.deputies import changes
from approvals.deputies.changes import REASON_MAX, Period
from approvals.notify.recipients import Person, deciders
from approvals.notify.texts.kinds import PERSON_MAX
from approvals.queries import deputies
from approvals.queries.deputies import DeputyRow
from dashboard.errors import Forbidden, Invalid, Missing, translated
from dashboard.fields.credentials import check_credentials
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, may, require

ADMINS_ONLY = "Only admins choose a deputy for somebody else."


@translated()
def list_deputies(actor: Actor, *, everybody: bool = False) -> list[DeputyRow]:
    """Those of the person and those whose deputy they are; with `everybody` all."""
    require(actor, "read")
    if everybody:
        if actor.roles.isdisjoint(("auditor", "admin")):
            raise Forbidden("Needs the role auditor or admin.")
        return deputies.listed(actor.workspace)
    return deputies.listed(actor.workspace, person=actor.person)


def possible_deputies(actor: Actor) -> list[Person]:
    """The reviewers whom the person may name, by user name."""
    return [one for one in deciders(actor.workspace) if one.id != actor.person]


@translated()
def name_deputy(
    actor: Actor,
    deputy: str,
    begins: datetime | None,
    ends: datetime,
    reason: str = "",
    person: str = "",
) -> DeputyRow:
    """Let a reviewer (by user name) act for the person, or for whom they name, for a time."""
    require(actor, "delegate")
    check_text("$.deputy", deputy, PERSON_MAX, required=True)
    check_text("$.person", person, PERSON_MAX)
    _check_reason(reason)
    whose = _reviewer(actor, "$.person", person) if person else actor.person
    if whose != actor.person and not may(actor, "people"):
        raise Forbidden(ADMINS_ONLY)
    acts = _reviewer(actor, "$.deputy", deputy)
    if acts == actor.person != whose:
        # An admin who is a reviewer as well would decide in another's place by their own word.
        raise Forbidden("You cannot name yourself somebody's deputy: another admin has to.")
    with transaction.atomic():
        made = changes.name_deputy(
            actor.workspace,
            whose,
            acts,
            Period(begins, ends),
            reason=reason,
            actor=actor.id,
        )
        return deputies.deputy(made, workspace=actor.workspace)


@translated()
def remove_deputy(actor: Actor, deputy_id: UUID) -> DeputyRow:
    """End a deputy's right, or withdraw a request that was handed over; what it was."""
    require(actor, "delegate")
    row = deputies.deputy(deputy_id, workspace=actor.workspace)
    # A deputy may lay the task down as well.
    if actor.person not in (row.person, row.deputy) and not may(actor, "people"):
        raise Missing("There is no such deputy in this workspace.")
    changes.remove_deputy(deputy_id, workspace=actor.workspace, actor=actor.id)
    return row


def _reviewer(actor: Actor, path: str, name: str) -> str:
    for one in deciders(actor.workspace):
        if one.name == name:
            return one.id
    raise Invalid(path, f"no active reviewer of this workspace is called {name}")


def _check_reason(reason: str) -> None:
    check_text("$.reason", reason, REASON_MAX)
    check_credentials("$.reason", reason)
