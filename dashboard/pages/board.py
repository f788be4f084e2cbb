"""The board: counters, lanes with the worst on top, what happens right now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from approvals import queries as gates
from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import EventRow, Page, SavedRow, ThreadRow
from dashboard.people import people
from dashboard.shapes import Lane

from .rights import Roles, rights_of

# Worst first: what needs a person stands on top.
ORDER = (
    Status.ATTENTION,
    Status.WAITING,
    Status.FAILED,
    Status.SLEEPING,
    Status.RUNNING,
    Status.QUEUED,
    Status.PAUSED,
    Status.ROLLING_BACK,
    Status.SUCCEEDED,
    Status.CANCELLED,
)
ROWS = 36  # on the whole board, so that a page stays small however many threads there are
LEAST = 3  # of each lane
LIST_ROWS = 50
FEED = 20


def shares(sizes: dict[Status, int], rows: int = ROWS, least: int = LEAST) -> dict[Status, int]:
    """How many rows each lane gets: `least` for all, the rest to the worst lanes first; pure."""
    given = {status: min(n, least) for status, n in sizes.items()}
    left = rows - sum(given.values())
    for status, n in sizes.items():
        more = max(min(n - given[status], left), 0)
        given[status] += more
        left -= more
    return given


@dataclass
class BoardPage:
    """The reads of one look at the board, each done at most once."""

    workspace: UUID
    statuses: tuple[Status, ...] = ()
    agent: str = ""
    q: str = ""
    after: str = ""

    topic = "board"

    @cached_property
    def _mark(self) -> tuple[int, Any]:
        return queries.board_mark(workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock at the beginning of this look, in microseconds."""
        return self._mark[0]

    @property
    def mark(self) -> Any:
        """What tells the hub's poll that the board moved."""
        return self._mark[1]

    @property
    def filtered(self) -> bool:
        """Whether this is another board than the one that is pushed."""
        return bool(self.statuses or self.agent or self.q or self.after)

    @cached_property
    def counts(self) -> dict[Status, int]:
        return queries.counts(workspace=self.workspace)

    @cached_property
    def listed(self) -> Page[ThreadRow]:
        """The rows of a board for chosen statuses, with what comes after them."""
        return queries.threads(
            workspace=self.workspace,
            statuses=self.statuses,
            agent=self.agent,
            q=self.q,
            after=self.after,
            limit=LIST_ROWS,
        )

    @cached_property
    def lanes(self) -> list[Lane]:
        if self.statuses:
            found: dict[Status, list[ThreadRow]] = {status: [] for status in ORDER}
            for row in self.listed.rows:
                found[row.status].append(row)
            given = {status: len(rows) for status, rows in found.items()}
        else:
            found = queries.lanes(
                workspace=self.workspace, statuses=ORDER, agent=self.agent, q=self.q, limit=ROWS
            )
            given = shares({status: len(found[status]) for status in ORDER})
        waiting = [r.id for r in found[Status.WAITING][: given[Status.WAITING]]]
        asked = gates.first_open(waiting) if waiting else {}
        return [
            Lane(
                str(status),
                self._total(status, rows),
                [_with_approval(r, asked) for r in rows[: given[status]]],
            )
            for status, rows in found.items()
            if rows
        ]

    def _total(self, status: Status, rows: list[ThreadRow]) -> int:
        searched = self.agent or self.q
        return len(rows) if searched else max(self.counts[status], len(rows))

    @cached_property
    def saved(self) -> SavedRow:
        """What faults did not cost; of the newest threads where there were many."""
        return queries.fleet_saved(workspace=self.workspace)

    @cached_property
    def feed(self) -> list[EventRow]:
        return queries.recent_events(workspace=self.workspace, limit=FEED)

    @cached_property
    def feed_titles(self) -> dict[UUID, str]:
        return queries.titles(list({event.thread for event in self.feed}))

    @cached_property
    def people(self) -> dict[str, str]:
        return people(event.actor for event in self.feed)


def _with_approval(row: ThreadRow, asked: dict[UUID, UUID]) -> ThreadRow:
    if row.id not in asked:
        return row
    on = row.waiting_on if isinstance(row.waiting_on, dict) else {}
    return replace(row, waiting_on={**on, "approval": str(asked[row.id])})


def board_counts(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-counts."""
    return {
        "counts": page.counts,
        "status": ",".join(page.statuses),
        "filtered": page.filtered,
    }


def board_lanes(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-lanes."""
    return {
        "lanes": page.lanes,
        "counts": page.counts,
        "rights": rights_of(roles),
        "q": page.q,
        "status": ",".join(page.statuses),
        "agent": page.agent,
        "filtered": page.filtered,
        "next_cursor": page.listed.next_cursor if page.statuses else "",
    }


def board_feed(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-feed."""
    return {"feed": page.feed, "feed_titles": page.feed_titles, "people": page.people}
