"""Look for trouble: threads, records and breakers that need a person, and those that no longer do.

Reads only. What was seen before is part of an incident, so each look answers new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.postgres.guarded_rows import not_set_aside
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from ..policies.caps import AT_CAP
from .fingerprints import fingerprint

PART: Final = "incident"
SQL = sql_file(
    __file__,
    at_cap=AT_CAP,
    stopped_by=STOPPED_BY,
    waits=not_set_aside(PART, "th.id"),
    other_waits=not_set_aside(PART, "x.subject"),
)
BATCH: Final = 500
AFFECTED_BATCH: Final = 5_000
# Seconds: a transaction can commit so long after the time that it wrote; and so long nobody swept.
OVERLAP: Final = 300.0
ABSENCE: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """A thread (breaker, workspace) in trouble since a time; `group` is what alike ones share."""

    subject: UUID
    workspace: UUID
    agent: str
    kind: str
    reason: str
    since: datetime
    labels: dict[str, str]

    @property
    def group(self) -> tuple[UUID, str, str, str]:
        """(workspace, agent, kind, fingerprint of the reason)."""
        return self.workspace, self.agent, self.kind, fingerprint(self.reason)


def new_troubles(limit: int = BATCH) -> list[Trouble]:
    """Troubles that are part of no incident; of each workspace and status at most `limit`."""
    params = {"limit": limit, "overlap": OVERLAP, "absence": ABSENCE}
    rows = fetch_named(SQL.by_status, params) + fetch_named(SQL.others, params)
    return [
        Trouble(
            row.subject,
            row.workspace,
            row.agent,
            row.kind,
            row.reason,
            row.since,
            deltas.decode(row.labels),
        )
        for row in rows
    ]


def affected(after: tuple[UUID, UUID], limit: int = AFFECTED_BATCH) -> list[Any]:
    """The next rows (incident, subject, since, ended) that were in trouble when last looked at."""
    return fetch_named(SQL.affected, (*after, limit))
