"""The only reader of endpoints and deliveries for upper floors; no address, no secret comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, computed_field

from checkpoints.errors import NotFound
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.tables.readers import record_of

from .channels import addresses

SQL = sql_file(__file__)
# Counted up to here; more is "at least".
COUNT_CAP = 10_000


@dataclass(frozen=True, slots=True)
class SecretKept:
    """That there is a secret, not which."""

    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """An endpoint; `target` is as much of its address as may be shown."""

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    kind: str
    name: str
    target: str
    events: list[str]
    digest: int
    people: list[str]
    teams: list[str]
    active: bool
    made_by: str
    created_at: datetime
    secrets: list[SecretKept]
    open: int
    late: int  # tried, and not arrived yet
    failed: int
    last_done_at: datetime | None
    last_error: str

    @computed_field(  # type: ignore[prop-decorator]
        description="Why today's settings refuse its address; empty where it is called."
    )
    @property
    def refusal(self) -> str:
        """The reason that it is not called."""
        return addresses.refusal(self.kind, self.target)


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """One news for one recipient; `state` is open, done, skipped or failed."""

    id: UUID
    news: UUID
    kind: str
    recipient: str
    state: str
    attempts: int
    code: int | None
    error: str
    skipped: str
    created_at: datetime
    next_at: datetime
    done_at: datetime | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lag:
    """The backlog of the outbox: news that nobody took, deliveries past their time, failures."""

    news: int
    news_seconds: float
    deliveries: int
    delivery_seconds: float
    failed: int


def endpoints(*, workspace: UUID) -> list[EndpointRow]:
    """A workspace's endpoints by name."""
    return _endpoints(
        "WHERE e.workspace_id = %(workspace)s::uuid ORDER BY e.name", workspace=workspace
    )


def endpoint(endpoint_id: UUID, *, workspace: UUID) -> EndpointRow:
    """One endpoint; raises NotFound for unknown ids and those of other workspaces alike."""
    result = _endpoints(
        "WHERE e.id = %(id)s::uuid AND e.workspace_id = %(workspace)s::uuid",
        id=endpoint_id,
        workspace=workspace,
    )
    if not result:
        raise NotFound("There is no such endpoint in this workspace.")
    return result[0]


def troubled(*, limit: int = 5) -> list[EndpointRow]:
    """Active endpoints of all workspaces where something failed lately or is tried again."""
    return _endpoints(
        "WHERE e.active AND (w.late > 0 OR f.failed > 0) ORDER BY f.failed DESC, e.id LIMIT %(n)s",
        n=limit,
    )


def deliveries(endpoint_id: UUID, *, workspace: UUID, limit: int = 20) -> list[DeliveryRow]:
    """The newest deliveries of an endpoint."""
    rows = fetch_named(SQL.deliveries, (endpoint_id, workspace, limit))
    return [record_of(DeliveryRow, row) for row in rows]


def mails() -> bool:
    """Answer True if any active endpoint sends mail."""
    (row,) = fetch_named(
        "SELECT EXISTS (SELECT 1 FROM gp_endpoint WHERE active AND kind = 'email') AS mails"
    )
    return bool(row.mails)


def lag() -> Lag:
    """Of all workspaces: one bounded statement."""
    (row,) = fetch_named(SQL.lag, {"cap": COUNT_CAP})
    return record_of(Lag, row)


def _endpoints(where: str, **params: Any) -> list[EndpointRow]:
    read = deltas.decode
    rows = fetch_named(f"{SQL.endpoint} {where}", {"cap": COUNT_CAP, **params})
    return [
        record_of(EndpointRow, row, events=read, people=read, teams=read, secrets=_secrets)
        for row in rows
    ]


def _secrets(text: str) -> list[SecretKept]:
    return [
        SecretKept(
            since=datetime.fromisoformat(one["since"]),
            until=None if one.get("until") is None else datetime.fromisoformat(one["until"]),
        )
        for one in deltas.decode(text)
    ]
