"""Subscriptions: what news of incidents a person or a team gets, by which endpoint, and when not.

Everybody chooses for themselves; admins choose for everybody, and alone for teams, chats, webhooks
and fixed addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import time
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction

from approvals.incidents import queries, quiet_hours, subscriptions
from approvals.incidents.queries import SubscriptionRow
from approvals.incidents.quiet_hours import QuietRow
from approvals.incidents.subscriptions import Choice
from approvals.notify import queries as endpoints
from approvals.notify.queries import EndpointRow
from approvals.notify.texts.kinds import TO_PEOPLE
from dashboard.errors import Forbidden, Invalid, Missing, translated
from dashboard.fields.credentials import check_credentials
from dashboard.identity.permissions import Actor, may, require
from dashboard.identity.seats import seat_of

from ..people.administration import Administrator

ADMINS_ONLY = "Only admins choose for others, for teams, and chats, webhooks or fixed addresses."


@translated()
def list_subscriptions(actor: Actor, *, everybody: bool = False) -> list[SubscriptionRow]:
    """Those of the person and of their teams; with `everybody` all, for auditors and admins."""
    require(actor, "read")
    if everybody:
        if actor.roles.isdisjoint(("auditor", "admin")):
            raise Forbidden("Needs the role auditor or admin.")
        return queries.subscriptions(workspace=actor.workspace)
    return queries.subscriptions(
        workspace=actor.workspace, person=actor.person, teams=_teams(actor)
    )


@translated()
def one_subscription(actor: Actor, subscription_id: UUID) -> SubscriptionRow:
    """One subscription; of others only for auditors and admins."""
    require(actor, "read")
    row = queries.subscription(subscription_id, workspace=actor.workspace)
    if actor.roles.isdisjoint(("auditor", "admin")) and not _concerns(actor, row):
        raise Missing("There is no such subscription in this workspace.")
    return row


def usable_endpoints(actor: Actor) -> list[EndpointRow]:
    """The active endpoints that the person may choose."""
    rows = [row for row in endpoints.endpoints(workspace=actor.workspace) if row.active]
    return rows if may(actor, "notify") else [row for row in rows if _writes_to_people(row)]


@translated()
def make_subscription(
    actor: Actor, choice: Choice, *, person: str = "", team: str = ""
) -> SubscriptionRow:
    """A new one, of the person who asks unless a user name or a team is given."""
    require(actor, "subscribe")
    whose = "" if team else actor.person
    if person:
        whose = _person_named(person)
    _check(actor, whose, choice)
    with transaction.atomic():
        made = subscriptions.make(actor.workspace, choice, actor=actor.id, person=whose, team=team)
        return queries.subscription(made, workspace=actor.workspace)


@translated()
def change_subscription(actor: Actor, subscription_id: UUID, choice: Choice) -> SubscriptionRow:
    """Other values; None leaves one as it is."""
    row = _theirs(actor, subscription_id)
    _check(actor, row.person, choice)
    with transaction.atomic():
        subscriptions.change(subscription_id, choice, workspace=actor.workspace, actor=actor.id)
        return queries.subscription(subscription_id, workspace=actor.workspace)


@translated()
def remove_subscription(actor: Actor, subscription_id: UUID) -> SubscriptionRow:
    """Send nothing more for it; what it was."""
    row = _theirs(actor, subscription_id)
    subscriptions.remove(subscription_id, workspace=actor.workspace, actor=actor.id)
    return row


@translated()
def own_quiet_hours(actor: Actor) -> QuietRow | None:
    """The quiet hours of the person who asks."""
    require(actor, "read")
    return quiet_hours.of_person(actor.workspace, actor.person)


@translated()
def set_quiet_hours(
    actor: Actor, hours: tuple[time, time] | None, zone: str = "UTC"
) -> QuietRow | None:
    """Let news of incidents wait for the person in these hours of each day; None: at no hour."""
    require(actor, "subscribe")
    scope, person = actor.workspace, actor.person
    if hours is None:
        quiet_hours.remove_quiet_hours(scope, person, actor=actor.id)
        return None
    return quiet_hours.set_quiet_hours(scope, person, *hours, zone, actor=actor.id)


@dataclass(frozen=True, slots=True)
class SubscriptionForms:
    """The same for the forms of the records: `who` acts in `workspace`, in their own for None."""

    who: Administrator
    workspace: UUID | None

    @property
    def actor(self) -> Actor:
        """A superuser may act in every workspace."""
        if not self.who.superuser or self.workspace is None:
            return self.who.actor
        return replace(self.who.actor, workspace=self.workspace)

    def make(self, values: Mapping[str, Any], *, person: str, team: str) -> UUID:
        """A new one: its id."""
        require(self.actor, "notify")
        return make_subscription(self.actor, Choice(**values), person=person, team=team).id

    def change(self, subscription_id: UUID, values: Mapping[str, Any]) -> None:
        """Other values."""
        require(self.actor, "notify")
        change_subscription(self.actor, subscription_id, Choice(**values))

    def remove(self, subscription_id: UUID) -> None:
        """Nothing more is sent."""
        require(self.actor, "notify")
        remove_subscription(self.actor, subscription_id)


def _theirs(actor: Actor, subscription_id: UUID) -> SubscriptionRow:
    """A subscription that the person may change."""
    require(actor, "subscribe")
    row = one_subscription(actor, subscription_id)
    if row.person != actor.person and not may(actor, "notify"):
        raise Forbidden(ADMINS_ONLY)
    return row


def _check(actor: Actor, whose: str, choice: Choice) -> None:
    """Refuse what is for admins only, and credentials; raises Forbidden, Invalid."""
    check_credentials("$.agent", choice.agent or "")
    check_credentials("$.label", choice.label or "")
    if may(actor, "notify"):
        return
    if whose != actor.person:
        raise Forbidden(ADMINS_ONLY)
    if choice.endpoint is not None:
        known = {row.id: row for row in endpoints.endpoints(workspace=actor.workspace)}
        row = known.get(choice.endpoint)
        if row is not None and not _writes_to_people(row):
            raise Forbidden(ADMINS_ONLY)
    if choice.escalate_to is not None:
        try:
            one_subscription(actor, choice.escalate_to)
        except Missing:
            message = "there is no such subscription of you or your teams"
            raise Invalid("$.escalate_to", message) from None


def _writes_to_people(row: EndpointRow) -> bool:
    return row.kind in TO_PEOPLE and not row.target


def _concerns(actor: Actor, row: SubscriptionRow) -> bool:
    return row.person == actor.person or row.team in _teams(actor)


def _teams(actor: Actor) -> tuple[str, ...]:
    return seat_of(actor)[1]


def _person_named(name: str) -> str:
    user = get_user_model()._default_manager.filter(username=name).first()
    if user is None:
        raise Invalid("$.person", f"nobody is called {name}")
    return f"user:{user.pk}"
