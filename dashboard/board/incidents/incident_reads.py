"""The page of one incident: its reads and its regions, for page, fragment and push."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from approvals.incidents import queries
from approvals.incidents.queries import IncidentRow
from approvals.notify.texts.incident_kinds import BREAKER, NEWEST_SHOWN
from dashboard.identity.people import people
from dashboard.identity.permissions import RIGHTS
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS, title

type Roles = frozenset[str]

BULK: Final = (("retry", "Retry all"), ("edit", "Edit and retry"), ("cancel", "Cancel all"))
SNOOZES: Final = ((1, "1 hour"), (4, "4 hours"), (24, "1 day"), (72, "3 days"), (168, "1 week"))


@dataclass
class IncidentPage:
    """The reads of one look at an incident, each done at most once; `person` is who looks."""

    workspace: UUID
    id: UUID
    person: str = ""

    topic = "incident"

    @cached_property
    def _mark(self) -> tuple[int, str]:
        return queries.incident_mark(self.id, workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock at the beginning of this look, in microseconds."""
        return self._mark[0]

    @property
    def mark(self) -> Any:
        """A value that differs when the incident moved."""
        return self._mark[1]

    @cached_property
    def row(self) -> IncidentRow:
        """The incident; raises NotFound."""
        _ = self._mark  # read first: what is shown is never older than its number
        return queries.incident(self.id, workspace=self.workspace)


def incident_head(page: IncidentPage, roles: Roles) -> dict[str, Any]:
    """Region incident-head."""
    row = page.row
    return {
        "incident": row,
        "title": title(row),
        "look": LOOKS[row.kind],
        "state": STATE_WORDS[row.state],
    }


def incident_facts(page: IncidentPage, roles: Roles) -> dict[str, Any]:
    """Region incident-facts."""
    row = page.row
    known = people({one for one in (row.taken_by, row.snoozed_by, row.closed_by) if one})
    return {"incident": row, "people": known}


def incident_verbs(page: IncidentPage, roles: Roles) -> dict[str, Any]:
    """Region incident-verbs, a person's own: fetched by their page, never pushed."""
    row = page.row
    return {"incident": row, "mine": row.taken_by == page.person, "snoozes": SNOOZES}


def incident_newest(page: IncidentPage, roles: Roles) -> dict[str, Any]:
    """Region incident-newest."""
    return {
        "incident": page.row,
        "newest": queries.newest_threads(page.id),
        "shown": NEWEST_SHOWN,
        "threads": page.row.kind != BREAKER,
        "bulk": () if RIGHTS["retry"].isdisjoint(roles) else BULK,
    }
