"""The list of incidents: its reads and its one region, for page, fragment and push."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from approvals.incidents import queries
from approvals.incidents.queries import IncidentRow, IncidentSelection
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.fields.filters import read
from dashboard.identity.people import people
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS, title

type Roles = frozenset[str]

ROWS: Final = 50
USUAL: Final = {"state": "open"}


@dataclass
class IncidentsPage:
    """The reads of one look at the incidents of a workspace, each done at most once.

    `texts` are the filters of its address, which were checked, by name.
    """

    workspace: UUID
    texts: Mapping[str, str] = field(default_factory=lambda: USUAL)
    after: UUID | None = None

    topic = "incidents"

    @cached_property
    def _mark(self) -> tuple[int, str]:
        return queries.incidents_mark(workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock at the beginning of this look, in microseconds."""
        return self._mark[0]

    @property
    def mark(self) -> Any:
        """A value that differs when the incidents moved."""
        return self._mark[1]

    @cached_property
    def selection(self) -> IncidentSelection:
        """Conditions of the list."""
        return IncidentSelection(**read(INCIDENTS, self.texts))

    @property
    def narrowed(self) -> bool:
        """Return whether this is another list than all open incidents."""
        return self.selection != IncidentSelection(**USUAL)

    @cached_property
    def listed(self) -> tuple[list[IncidentRow], UUID | None]:
        """The newest incidents that fit, and the last one where more follow."""
        rows = queries.incidents(
            self.selection, workspace=self.workspace, after=self.after, limit=ROWS + 1
        )
        return rows[:ROWS], rows[ROWS - 1].id if len(rows) > ROWS else None

    def address(self, **other: str) -> str:
        """The address of this list, or of one that differs in some words."""
        words = {**self.texts, **other}
        return f"{reverse('incidents')}?{urlencode({k: v for k, v in words.items() if v})}"


def incidents_list(page: IncidentsPage, roles: Roles) -> dict[str, Any]:
    """Region incidents-list."""
    rows, last = page.listed
    return {
        "rows": [(row, title(row), LOOKS[row.kind], STATE_WORDS[row.state]) for row in rows],
        "people": people({row.taken_by for row in rows if row.taken_by}),
        "more": page.address(cursor=str(last)) if last else "",
        "narrowed": page.narrowed,
        "refetched": page.narrowed or page.after is not None,
    }
