"""The only reader of incidents and subscriptions for upper floors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field, computed_field

from checkpoints.errors import InvalidValue, NotFound
from checkpoints.postgres.list_conditions import condition, narrowing, parameters
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.tables.readers import record_of

from ..notify.texts.incident_kinds import ATTENTION, FAILED, NEWEST_SHOWN

STATES: Final = ("open", "taken", "snoozed", "closed")
ALL: Final = "all"
_IN_STATE: Final = """CASE %(state)s::varchar WHEN 'open' THEN i.closed_at IS NULL
    WHEN 'closed' THEN i.closed_at IS NOT NULL
    WHEN 'taken' THEN i.closed_at IS NULL AND i.taken_by <> ''
    WHEN 'snoozed' THEN i.closed_at IS NULL AND i.snoozed_until > clock_timestamp() END"""


@dataclass(frozen=True, slots=True)
class IncidentSelection:
    """Conditions that all hold for the incidents of a list: one of STATES or ALL; a trouble."""

    state: str = narrowing(ALL, _IN_STATE)
    kind: str = narrowing("", "i.kind = %(kind)s::varchar")
    agent: str = narrowing("", "i.agent = %(agent)s::varchar")


EVERY_INCIDENT: Final = IncidentSelection()
SQL = sql_file(__file__, narrowed=condition(IncidentSelection))


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """An incident; `threads` ever were part of it, `in_trouble` still are.

    `state` is open, taken, snoozed or closed. One that closed by itself has no `closed_by`.
    """

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    agent: str
    kind: str
    reason: str
    threads: int
    affected: Annotated[int, Field(serialization_alias="in_trouble")]
    opened_at: datetime
    last_at: datetime
    taken_by: str
    taken_at: datetime | None
    snoozed_until: datetime | None
    snoozed_by: Annotated[str, Field(exclude=True)]
    closed_at: datetime | None
    closed_by: str
    close_reason: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def state(self) -> str:
        """open, taken, snoozed or closed: where several hold, the last."""
        if self.closed_at is not None:
            return "closed"
        if self.snoozed_until is not None:
            return "snoozed"
        return "taken" if self.taken_by else "open"


@dataclass(frozen=True, slots=True)
class IncidentThreadRow:
    """A thread of an incident; of a breaker or a workspace's log `status` and `title` are null."""

    id: UUID
    title: str | None
    status: str | None
    reason: str
    since: datetime
    in_trouble: bool


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """The incident that a thread is part of now; `affected` threads are in trouble by it."""

    id: UUID
    affected: int


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A subscription of a person (`user:7`) or a team, by an endpoint.

    Without `kinds` it only gets what others escalate to it. `active` is whether anything can come.
    """

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    person: str
    team: str
    endpoint: UUID
    endpoint_name: str
    channel: str
    active: bool
    kinds: list[str]
    agent: str
    label: str
    urgent: bool
    escalate_to: UUID | None
    escalate_minutes: int
    made_by: str
    created_at: datetime


def incidents(
    selection: IncidentSelection = EVERY_INCIDENT,
    *,
    workspace: UUID,
    after: UUID | None = None,
    limit: int = 50,
) -> list[IncidentRow]:
    """Incidents of a workspace, the newest first, after the last one of the page before.

    Raises InvalidValue for an `after` that is no incident of the workspace.
    """
    if after is not None and not fetch_named(SQL.incident, (after, workspace)):
        raise InvalidValue("cursor", "is not a cursor of this list")
    params = {"workspace": workspace, "after": after, "limit": limit}
    rows = fetch_named(SQL.incidents, parameters(selection) | params)
    return [record_of(IncidentRow, row) for row in rows]


def incident(incident_id: UUID, *, workspace: UUID) -> IncidentRow:
    """One incident; raises NotFound for unknown ids and those of other workspaces alike."""
    rows = fetch_named(SQL.incident, (incident_id, workspace))
    if not rows:
        raise NotFound("There is no such incident in this workspace.")
    return record_of(IncidentRow, rows[0])


def newest_threads(incident_id: UUID, limit: int = NEWEST_SHOWN) -> list[IncidentThreadRow]:
    """Those that joined an incident last."""
    return [
        record_of(IncidentThreadRow, row) for row in fetch_named(SQL.threads, (incident_id, limit))
    ]


def in_trouble(incident_id: UUID, *, workspace: UUID, limit: int) -> list[UUID]:
    """The threads that an incident of a workspace still has, those that joined last first."""
    rows = fetch_named(SQL.in_trouble, (incident_id, workspace, limit))
    return [row.subject_id for row in rows]


def open_incidents(*, workspace: UUID) -> tuple[int, int]:
    """(open incidents, those of them that nobody has taken or snoozed)."""
    (row,) = fetch_named(SQL.open_count, (workspace,))
    return int(row.open), int(row.untaken)


def open_incidents_of(threads: Sequence[UUID], *, workspace: UUID) -> dict[UUID, OpenIncident]:
    """{thread: its open incident} of failed threads and those that need attention."""
    rows = fetch_named(SQL.of_threads, (list(threads), [FAILED, ATTENTION], workspace))
    return {row.thread: OpenIncident(row.id, row.affected) for row in rows}


def incidents_mark(*, workspace: UUID) -> tuple[int, str]:
    """(microseconds of the database's clock, a value that differs when the incidents moved).

    Only open ones move, and one that closes is none of them any more.
    """
    (row,) = fetch_named(SQL.open_mark, (workspace,))
    return int(row.now), str(row.mark)


def incident_mark(incident_id: UUID, *, workspace: UUID) -> tuple[int, str]:
    """(microseconds of the database's clock, a value that differs when the incident moved).

    Of one that is gone the value is empty.
    """
    (row,) = fetch_named(SQL.one_mark, (incident_id, workspace))
    return int(row.now), str(row.mark)


def subscriptions(
    *, workspace: UUID, person: str = "", teams: Sequence[str] = ()
) -> list[SubscriptionRow]:
    """Subscriptions of a workspace, or of one person and their teams there, the oldest first."""
    return _subscriptions(workspace=workspace, id=None, person=person, teams=list(teams))


def subscription(subscription_id: UUID, *, workspace: UUID) -> SubscriptionRow:
    """One subscription; raises NotFound for unknown ids and those of other workspaces alike."""
    rows = _subscriptions(workspace=workspace, id=subscription_id, person="", teams=[])
    if not rows:
        raise NotFound("There is no such subscription in this workspace.")
    return rows[0]


def _subscriptions(**params: Any) -> list[SubscriptionRow]:
    rows = fetch_named(SQL.subscriptions, params)
    return [record_of(SubscriptionRow, row, kinds=deltas.decode) for row in rows]
