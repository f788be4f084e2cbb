"""The only writer of subscriptions: make, change, remove.

Each verb holds the subscription's row, and its event goes into the workspace's log in the same
transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.limits import AGENT_MAX
from checkpoints.state import deltas
from checkpoints.states import ROLES
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from ..notify import recipients
from ..notify.channels.kinds import TO_PEOPLE
from ..notify.models import Endpoint
from ..notify.texts.incident_kinds import ESCALATE_MAX, LABEL_MAX, SUBSCRIPTIONS_MAX, TROUBLES
from .models import IncidentNotice, Subscription


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of a subscription; None leaves one as it is (or usual, of a new one).

    `label` is "key=value"; `escalate_minutes` 0 ends the escalation.
    """

    endpoint: UUID | None = None
    kinds: Sequence[str] | None = None
    agent: str | None = None
    label: str | None = None
    urgent: bool | None = None
    escalate_to: UUID | None = None
    escalate_minutes: int | None = None


def make(workspace: UUID, choice: Choice, *, actor: str, person: str = "", team: str = "") -> UUID:
    """A new subscription of a person (`user:7`) or of a team; its id. Raises InvalidValue."""
    if bool(person) == bool(team):
        raise InvalidValue("person", "name a person or a team")
    row = Subscription(workspace_id=workspace, person=person, team=team, made_by=actor)
    row.kinds = list(TROUBLES)
    with transaction.atomic():
        store.lock_workspaces([workspace])
        if Subscription.objects.filter(workspace_id=workspace).count() >= SUBSCRIPTIONS_MAX:
            raise InvalidValue("person", f"a workspace has at most {SUBSCRIPTIONS_MAX}")
        if choice.endpoint is None:
            raise InvalidValue("endpoint", "is required")
        values = _values(row, choice)
        _check_whose(row, values["endpoint_id"])
        kind = K.SUBSCRIPTION_MADE
        recorded_rows.save(row, values, kind, actor=actor, data=_data(row, values))
    return row.id


def change(subscription: UUID, choice: Choice, *, workspace: UUID, actor: str) -> bool:
    """Give it other values; False when nothing differs. Raises NotFound, InvalidValue."""
    with transaction.atomic():
        row = recorded_rows.lock_one(Subscription, workspace, subscription)
        values = _values(row, choice)
        if all(getattr(row, name) == value for name, value in values.items()):
            return False
        _check_whose(row, values["endpoint_id"])
        kind = K.SUBSCRIPTION_CHANGED
        data = _data(row, values)
        return recorded_rows.save(row, values, kind, actor=actor, data=data, locked=True)


def remove(subscription: UUID, *, workspace: UUID, actor: str) -> None:
    """Send nothing more for it; NotAllowedNow while others escalate to it."""
    with transaction.atomic():
        row = recorded_rows.lock_one(Subscription, workspace, subscription)
        if Subscription.objects.filter(escalate_to_id=row.id).exists():
            refusal = "Another subscription escalates to this one; change that one first."
            raise NotAllowedNow(refusal)
        IncidentNotice.objects.filter(subscription_id=row.id).delete()
        kind = K.SUBSCRIPTION_REMOVED
        recorded_rows.delete(row, kind, actor=actor, data=_data(row, {}))


def _values(row: Subscription, choice: Choice) -> dict[str, Any]:
    """The values of a subscription after this choice; raises InvalidValue."""
    names = ("endpoint_id", "kinds", "agent", "label", "urgent", "escalate_to_id")
    values = {name: getattr(row, name) for name in (*names, "escalate_minutes")}
    if choice.endpoint is not None:
        values["endpoint_id"] = choice.endpoint
    if choice.kinds is not None:
        if unknown := [kind for kind in choice.kinds if kind not in TROUBLES]:
            raise InvalidValue("kinds", f"knows {', '.join(TROUBLES)}, not {unknown[0]}")
        values["kinds"] = [kind for kind in TROUBLES if kind in choice.kinds]
    if choice.agent is not None:
        values["agent"] = _text("agent", choice.agent, AGENT_MAX)
    if choice.label is not None:
        values["label"] = _text("label", choice.label, LABEL_MAX)
        if values["label"] and "=" not in values["label"]:
            raise InvalidValue("label", "is written key=value")
    if choice.urgent is not None:
        values["urgent"] = choice.urgent
    if choice.escalate_to is not None:
        _check_target(row, choice.escalate_to)
        values["escalate_to_id"] = choice.escalate_to
    if choice.escalate_minutes is not None:
        if not 0 <= choice.escalate_minutes <= ESCALATE_MAX:
            raise InvalidValue("escalate_minutes", f"takes 0 to {ESCALATE_MAX} minutes")
        values["escalate_minutes"] = choice.escalate_minutes
    if choice.escalate_minutes == 0 and choice.escalate_to is None:
        values["escalate_to_id"] = None
    if bool(values["escalate_minutes"]) != (values["escalate_to_id"] is not None):
        raise InvalidValue("escalate_minutes", "belongs to escalate_to: give both")
    return values


def _text(path: str, value: str, most: int) -> str:
    deltas.check(value, path)
    value = value.strip()
    if len(value) > most:
        raise InvalidValue(path, f"takes at most {most} characters")
    return value


def _check_target(row: Subscription, other: UUID) -> None:
    if other == row.id:
        raise InvalidValue("escalate_to", "must be another subscription")
    # Settings of the workspace are locked, so it cannot be removed meanwhile.
    if not Subscription.objects.filter(pk=other, workspace_id=row.workspace_id).exists():
        raise InvalidValue("escalate_to", "there is no such subscription in this workspace")


def _check_whose(row: Subscription, to: UUID) -> None:
    """Refuse an endpoint that is not here or does not write to this person or team."""
    endpoint = Endpoint.objects.filter(pk=to, workspace_id=row.workspace_id).first()
    if endpoint is None:
        raise InvalidValue("endpoint", "there is no such endpoint in this workspace")
    if row.team and recipients.unknown(row.workspace_id, people=(), teams=[row.team]):
        raise InvalidValue("team", f"no team is called {row.team}")
    if not row.person:
        return
    members = recipients.members(row.workspace_id, *ROLES)
    people = [one for one in members if one.id == row.person]
    if not people:
        raise InvalidValue("person", "is not a member of this workspace")
    if endpoint.kind not in TO_PEOPLE or endpoint.address:
        return
    if not recipients.wanted(people[0], people=endpoint.people, teams=endpoint.teams):
        raise InvalidValue("endpoint", "does not write to this person")


def _data(row: Subscription, values: Mapping[str, Any]) -> dict[str, Any]:
    names = ("person", "team", "kinds", "agent", "label")
    return {"subscription": str(row.id)} | {n: values.get(n, getattr(row, n)) for n in names}
