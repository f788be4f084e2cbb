"""The only writer of subscriptions: make, change, remove.

Each verb holds the subscription's row, and its event goes into the workspace's log in the same
transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.limits import AGENT_MAX
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas
from checkpoints.states import ROLES
from checkpoints.states import WorkspaceEventKind as K

from ..notify import recipients
from ..notify.texts.incident_kinds import ESCALATE_MAX, LABEL_MAX, SUBSCRIPTIONS_MAX, TROUBLES
from ..notify.texts.kinds import TO_PEOPLE

_CHANGEABLE: Final = (
    "endpoint_id",
    "kinds",
    "agent",
    "label",
    "urgent",
    "escalate_to_id",
    "escalate_minutes",
)


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


@dataclass(slots=True)
class _Row:
    id: UUID
    workspace: UUID
    person: str
    team: str
    endpoint: UUID | None
    kinds: list[str]
    agent: str = ""
    label: str = ""
    urgent: bool = False
    escalate_to: UUID | None = None
    escalate_minutes: int = 0


def make(workspace: UUID, choice: Choice, *, actor: str, person: str = "", team: str = "") -> UUID:
    """A new subscription of a person (`user:7`) or of a team; its id. Raises InvalidValue."""
    if bool(person) == bool(team):
        raise InvalidValue("person", "name a person or a team")
    row = _Row(uuid7(), workspace, person, team, None, list(TROUBLES))
    with transaction.atomic():
        store.lock_workspaces([workspace])
        if _count(workspace) >= SUBSCRIPTIONS_MAX:
            raise InvalidValue("person", f"a workspace has at most {SUBSCRIPTIONS_MAX}")
        if choice.endpoint is None:
            raise InvalidValue("endpoint", "is required")
        _apply(row, choice)
        _check_whose(row)
        _write(
            "INSERT INTO gp_subscription (endpoint_id, kinds, agent, label, urgent, "
            "escalate_to_id, escalate_minutes, id, workspace_id, person, team, made_by) VALUES "
            "(%s::uuid, %s::jsonb, %s::varchar, %s::varchar, %s::boolean, %s::uuid, %s::integer, "
            "%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar)",
            (*_values(row), row.id, workspace, person, team, actor),
        )
        _log(K.SUBSCRIPTION_MADE, row, actor, RowChange({"gp_subscription": [row.id]}))
    return row.id


def change(subscription: UUID, choice: Choice, *, workspace: UUID, actor: str) -> bool:
    """Give it other values; False when nothing differs. Raises NotFound, InvalidValue."""
    with transaction.atomic():
        row = _locked(subscription, workspace)
        before = _values(row)
        _apply(row, choice)
        if _values(row) == before:
            return False
        _check_whose(row)
        _write(
            "UPDATE gp_subscription SET endpoint_id = %s::uuid, kinds = %s::jsonb, "
            "agent = %s::varchar, label = %s::varchar, urgent = %s::boolean, "
            "escalate_to_id = %s::uuid, escalate_minutes = %s::integer WHERE id = %s::uuid",
            (*_values(row), row.id),
        )
        changed = RowChange({"gp_subscription": [row.id]}, columns=_CHANGEABLE)
        _log(K.SUBSCRIPTION_CHANGED, row, actor, changed)
    return True


def remove(subscription: UUID, *, workspace: UUID, actor: str) -> None:
    """Send nothing more for it; NotAllowedNow while others escalate to it."""
    with transaction.atomic():
        row = _locked(subscription, workspace)
        _write(
            "SELECT 1 FROM gp_subscription WHERE escalate_to_id = %s::uuid LIMIT 1",
            (subscription,),
            refuse="Another subscription escalates to this one; change that one first.",
        )
        removed = RowChange({"gp_subscription": [row.id]}, columns=())
        _write("DELETE FROM gp_incident_notice WHERE subscription_id = %s::uuid", (subscription,))
        _write("DELETE FROM gp_subscription WHERE id = %s::uuid", (subscription,))
        _log(K.SUBSCRIPTION_REMOVED, row, actor, removed)


def _apply(row: _Row, choice: Choice) -> None:
    if choice.endpoint is not None:
        row.endpoint = choice.endpoint
    if choice.kinds is not None:
        if unknown := [kind for kind in choice.kinds if kind not in TROUBLES]:
            raise InvalidValue("kinds", f"knows {', '.join(TROUBLES)}, not {unknown[0]}")
        row.kinds = [kind for kind in TROUBLES if kind in choice.kinds]
    if choice.agent is not None:
        row.agent = _text("agent", choice.agent, AGENT_MAX)
    if choice.label is not None:
        row.label = _text("label", choice.label, LABEL_MAX)
        if row.label and not row.label.partition("=")[1]:
            raise InvalidValue("label", "is written key=value")
    if choice.urgent is not None:
        row.urgent = choice.urgent
    if choice.escalate_to is not None:
        _check_target(row, choice.escalate_to)
        row.escalate_to = choice.escalate_to
    if choice.escalate_minutes is not None:
        if not 0 <= choice.escalate_minutes <= ESCALATE_MAX:
            raise InvalidValue("escalate_minutes", f"takes 0 to {ESCALATE_MAX} minutes")
        row.escalate_minutes = choice.escalate_minutes
    if choice.escalate_minutes == 0 and choice.escalate_to is None:
        row.escalate_to = None
    if bool(row.escalate_minutes) != (row.escalate_to is not None):
        raise InvalidValue("escalate_minutes", "belongs to escalate_to: give both")


def _text(path: str, value: str, most: int) -> str:
    deltas.check(value, path)
    value = value.strip()
    if len(value) > most:
        raise InvalidValue(path, f"takes at most {most} characters")
    return value


def _check_target(row: _Row, other: UUID) -> None:
    if other == row.id:
        raise InvalidValue("escalate_to", "must be another subscription")
    rows = fetch_named(
        "SELECT 1 FROM gp_subscription WHERE id = %s::uuid AND workspace_id = %s::uuid "
        "FOR KEY SHARE",
        (other, row.workspace),
    )
    if not rows:
        raise InvalidValue("escalate_to", "there is no such subscription in this workspace")


def _check_whose(row: _Row) -> None:
    """Refuse an endpoint that is not here or does not write to this person or team."""
    endpoints = fetch_named(
        "SELECT kind, address, people::text AS people, teams::text AS teams FROM gp_endpoint "
        "WHERE id = %s::uuid AND workspace_id = %s::uuid",
        (row.endpoint, row.workspace),
    )
    if not endpoints:
        raise InvalidValue("endpoint", "there is no such endpoint in this workspace")
    (endpoint,) = endpoints
    if row.team and recipients.unknown(row.workspace, people=(), teams=[row.team]):
        raise InvalidValue("team", f"no team is called {row.team}")
    if not row.person:
        return
    people = [one for one in recipients.members(row.workspace, *ROLES) if one.id == row.person]
    if not people:
        raise InvalidValue("person", "is not a member of this workspace")
    if endpoint.kind in TO_PEOPLE and not endpoint.address:
        names, teams = deltas.decode(endpoint.people), deltas.decode(endpoint.teams)
        if not recipients.wanted(people[0], people=names, teams=teams):
            raise InvalidValue("endpoint", "does not write to this person")


def _values(row: _Row) -> tuple[Any, ...]:
    return (
        row.endpoint,
        deltas.canonical(row.kinds).decode(),
        row.agent,
        row.label,
        row.urgent,
        row.escalate_to,
        row.escalate_minutes,
    )


def _locked(subscription: UUID, workspace: UUID) -> _Row:
    rows = fetch_named(
        "SELECT id, workspace_id AS workspace, person, team, endpoint_id AS endpoint, kinds::text, "
        "agent, label, urgent, escalate_to_id AS escalate_to, escalate_minutes "
        "FROM gp_subscription WHERE id = %s::uuid AND workspace_id = %s::uuid FOR UPDATE",
        (subscription, workspace),
    )
    if not rows:
        raise NotFound("There is no such subscription in this workspace.")
    return _Row(**rows[0]._asdict() | {"kinds": deltas.decode(rows[0].kinds)})


def _count(workspace: UUID) -> int:
    (row,) = fetch_named(
        "SELECT count(*) AS n FROM gp_subscription WHERE workspace_id = %s::uuid", (workspace,)
    )
    return int(row.n)


def _write(sql: str, params: Sequence[Any], *, refuse: str = "") -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        if refuse and cursor.rowcount:
            raise NotAllowedNow(refuse)


def _log(kind: K, row: _Row, actor: str, change: RowChange) -> None:
    data = {
        "subscription": str(row.id),
        "person": row.person,
        "team": row.team,
        "kinds": row.kinds,
        "agent": row.agent,
        "label": row.label,
    }
    store.log_setting(kind, row.workspace, data=data, actor=actor, change=change)
