"""The board: counters, lanes with the worst on top, what happens right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from approvals import queries as gates
from approvals.anchors import sender
from approvals.incidents.queries import open_incidents
from checkpoints import queries
from checkpoints.breakers.rule import BreakerRow
from checkpoints.durabilities import HOT
from checkpoints.queries.code_questions import CodeQuestionRow
from checkpoints.states import Status
from checkpoints.views import AtLeast, Page, SavedRow, ThreadRow
from dashboard.board.filters.address import FILTERS, USUAL, BoardAddress
from dashboard.fields.shapes import Counter, FilterChip, Hidden, Lane
from dashboard.identity.people import people
from dashboard.threads.page.rights import Roles, rights_of
from dashboard.wording.text import capped, span

from . import alike, board_columns, stuck
from .feed import Moved, merged, moved
from .lanes import ROWS, shares
from .open_breakers import narrowed, shown_breakers

# What needs a person stands on top.
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
OPERATORS_ORDER = (
    Status.ATTENTION,
    Status.FAILED,
    *(status for status in ORDER if status not in (Status.ATTENTION, Status.FAILED)),
)
# Of all others the one that has been there longest stands first.
NEWEST_FIRST = frozenset({Status.SUCCEEDED, Status.CANCELLED})
LIST_ROWS = 32
DAMAGES_SHOWN = 3


@dataclass
class BoardPage(BoardAddress):
    """The reads of one look at the board, each done at most once.

    Children stand on the pages of their parents. A board has them where it is narrowed to some
    threads, or with `children`; those that begin when others end only with `held`.
    """

    workspace: UUID = field(kw_only=True)

    topic = "board"

    @cached_property
    def _look(self) -> queries.BoardLook:
        return queries.board_look(workspace=self.workspace)

    @property
    def seq(self) -> int:
        """The database's clock at the beginning of this look, in microseconds."""
        return self._look.clock

    @property
    def mark(self) -> Any:
        """The mark that shows the hub's poll whether the board changed."""
        return self._look.mark

    @property
    def open_breakers(self) -> list[BreakerRow]:
        """Breakers that stop threads now, the newest first."""
        return self._look.breakers

    @property
    def reached_budgets(self) -> list[queries.ReachedBudget]:
        """Budgets of which 80 or 100 per cent is spent this month, the fullest first."""
        return self._look.budgets

    @property
    def filtered(self) -> bool:
        """True if filters make this another board than the one that is pushed."""
        return bool(self.values or self.after)

    @cached_property
    def problem(self) -> queries.InvalidQuery | None:
        """The mistake in the query, if there is one; such a board shows no thread."""
        try:
            queries.checked_query(self.q, self.workspace)
        except queries.InvalidQuery as error:
            return error
        return None

    @property
    def instead(self) -> list[tuple[str, str]]:
        """Queries that may be meant in place of one with a mistake, each with its board."""
        tries = self.problem.instead if self.problem else ()
        return [(query, self.address(self.statuses, q=query)) for query in tries]

    @property
    def stuck(self) -> queries.StuckCounts:
        """Threads of the workspace that are stuck, whatever narrows the board."""
        return self._look.stuck

    @cached_property
    def hidden(self) -> Hidden | None:
        """The children that this board leaves out; None where it leaves out none."""
        if self.held or self.problem or self.tree_filter == self.tree:
            return None
        if self.tree_filter.top:
            n = queries.children_beside(workspace=self.workspace, statuses=self.statuses)
            which, href = "not listed", self.address(self.statuses, children="1")
        else:
            n = self._counts(replace(self.tree, held=True))[Status.WAITING]
            which, href = "held until others end", self.address((), held="1")
        return Hidden(f"{capped(n)} child{'' if n == 1 else 'ren'} {which}", href) if n else None

    @cached_property
    def counts(self) -> dict[Status, int]:
        """Threads per status, as the search and the agent narrow them."""
        return self._counts(self.tree_filter)

    def _counts(self, tree_filter: queries.TreeFilter) -> dict[Status, int]:
        if self.problem:
            return dict.fromkeys(Status, 0)
        selection = replace(self.selection, tree=tree_filter)
        return queries.counts(selection, workspace=self.workspace, newest_first=NEWEST_FIRST)

    @property
    def stop_address(self) -> str:
        """The dialog that stops the threads of this board.

        Statuses and children go along: no breaker selects by them, and the dialog says so.
        """
        chosen = self.filter_words | narrowed(self.q, self.values.get("agent", ""))
        chosen["status"] = ",".join(self.statuses)
        query = urlencode({name: text for name, text in chosen.items() if text})
        return reverse("breaker_trip") + (f"?{query}" if query else "")

    @property
    def stop_narrowed(self) -> bool:
        """True if a stop of this board leaves some threads of the workspace alone."""
        return bool(self.values.keys() - {"status", "children", "held"})

    @property
    def many_address(self) -> str:
        """The dialog that acts on the threads of this board."""
        return reverse("threads_many") + self.address(self.statuses)

    @cached_property
    def filter_chips(self) -> list[FilterChip]:
        """Filters of the board beside its statuses and query, each with the board without it."""
        ids = {value for value in self.values.values() if isinstance(value, UUID)}
        titles = queries.titles_in(ids, workspace=self.workspace) if ids else {}
        chips = []
        for one in FILTERS:
            if one.name in self.values and one.name not in ("status", "q"):
                value, text = self.values[one.name], self.filter_words[one.name]
                shown = "" if value is True else text
                if isinstance(value, UUID):
                    shown = titles.get(value, text[:8])
                chips.append(
                    FilterChip(
                        one.name,
                        text,
                        one.label,
                        shown,
                        one.phrase.format(shown),
                        self.address(self.statuses, **{one.name: ""}),
                    )
                )
        return chips

    @cached_property
    def listed(self) -> Page[ThreadRow]:
        """The rows of a board for chosen statuses, with what comes after them."""
        oldest_first = not set(self.statuses) <= NEWEST_FIRST
        rows = board_columns.rows_of(LIST_ROWS, self.columns)
        return self.first(rows, after=self.after, oldest_first=oldest_first, look=queries.LIST_LOOK)

    def first(
        self, limit: int, *, after: str = "", oldest_first: bool = False, look: int | None = None
    ) -> Page[ThreadRow]:
        """Up to `limit` threads that this board shows, of all its lanes; see queries.threads."""
        if self.problem:
            return Page((), "")
        return queries.threads(
            self.selection,
            workspace=self.workspace,
            limit=limit,
            after=after,
            oldest_first=oldest_first,
            look=look,
        )

    @property
    def looked_at(self) -> int:
        """The number of threads of each status that were looked at; 0 where it is all of them."""
        if self.statuses:
            page = self.listed
            rows = board_columns.rows_of(LIST_ROWS, self.columns)
            is_part = page.next_cursor or (self.after and not page.rows)
            return queries.LIST_LOOK if is_part and len(page.rows) < rows else 0
        return queries.LOOK if any(isinstance(n, AtLeast) for n in self.counts.values()) else 0

    @cached_property
    def _rows(self) -> dict[Status, list[ThreadRow]]:
        if not self.statuses and not self.problem:
            return queries.lanes(
                self.selection,
                workspace=self.workspace,
                statuses=ORDER,
                newest_first=NEWEST_FIRST,
                limit=board_columns.rows_of(ROWS, self.columns),
            )
        results: dict[Status, list[ThreadRow]] = {status: [] for status in ORDER}
        for row in self.listed.rows:
            results[row.status].append(row)
        return results

    @cached_property
    def _first_approvals(self) -> dict[UUID, UUID]:
        """{thread: its first open approval} of the rows that wait for one."""
        waiting = [row.id for row in self._rows[Status.WAITING]]
        return gates.first_open(waiting) if waiting else {}

    @cached_property
    def code_questions(self) -> list[CodeQuestionRow]:
        """The choices of code that threads wait for; read only where a row on the board does."""
        waiting = (row.waiting_on for row in self._rows[Status.ATTENTION])
        if not any(isinstance(on, dict) and on.get("kind") == "code" for on in waiting):
            return []
        return queries.code_questions(workspace=self.workspace, agent=self.values.get("agent", ""))

    def lanes(self, order: Sequence[Status]) -> list[Lane]:
        """The lanes that have rows, each with how many there are in all."""
        result = self._rows
        sizes = {status: len(result[status]) for status in order}
        rows = board_columns.rows_of(ROWS, self.columns)
        value = sizes if self.statuses else shares(sizes, rows)
        sums = self._counts(self.rows_at) if self.held else self.counts
        lanes = [
            Lane(
                "held" if self.held else str(status),
                # A thread that came between the two reads is counted as well.
                max(sums[status], type(sums[status])(len(result[status]))),
                [_with_approval(r, self._first_approvals) for r in result[status][: value[status]]],
                self.address([status]),
                self.code_questions if status is Status.ATTENTION else (),
            )
            for status in order
            if result[status]
        ]
        read = {str(status): result[status] for status in order}
        return alike.grouped(lanes, read, self.workspace, whole=not self.stop_narrowed)

    @cached_property
    def behind(self) -> dict[UUID, str]:
        """{thread: its lag in words} of hot threads whose steps wait too long in the hot store."""
        hot = [row.id for rows in self._rows.values() for row in rows if row.durability == HOT]
        late = queries.late_threads(hot)
        return {thread: f"not stored for {span(lag.seconds)}" for thread, lag in late.items()}

    @property
    def chips(self) -> list[tuple[str, str]]:
        """(status, the board without it) of each status that is chosen."""
        return [
            (str(status), self.address([s for s in self.statuses if s != status]))
            for status in self.statuses
        ]

    @cached_property
    def saved(self) -> SavedRow:
        """The work that resuming saved; of the newest threads if there are many."""
        return queries.fleet_saved(workspace=self.workspace)

    @cached_property
    def _moved(self) -> list[Moved]:
        return moved(queries.recent_events(workspace=self.workspace))

    @cached_property
    def feed(self) -> list[Moved]:
        return merged(self._moved, {thread: root for thread, (root, _) in self._families.items()})

    @cached_property
    def _families(self) -> dict[UUID, tuple[UUID, str]]:
        return queries.families_of([row.thread for row in self._moved])

    @property
    def feed_titles(self) -> dict[UUID, str]:
        """Titles of the first threads of the families in the feed."""
        return dict(self._families.values())

    @cached_property
    def people(self) -> dict[str, str]:
        return people(event.actor for row in self.feed for event in row.lines)


def _with_approval(row: ThreadRow, query: dict[UUID, UUID]) -> ThreadRow:
    if row.id not in query:
        return row
    on = row.waiting_on if isinstance(row.waiting_on, dict) else {}
    return replace(row, waiting_on={**on, "approval": str(query[row.id])})


def order_for(roles: Roles) -> tuple[Status, ...]:
    """The order of lanes: those come first that these roles can do something about."""
    rights = rights_of(roles)
    return OPERATORS_ORDER if rights.control and not rights.decide else ORDER


def board_counts(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-counts."""
    counters = []
    for status in order_for(roles):
        chosen = status in page.statuses
        others = [s for s in page.statuses if s != status] if chosen else [status]
        counters.append(Counter(str(status), page.counts[status], chosen, page.address(others)))
    return {"counters": counters, "filtered": page.filtered}


def board_integrity(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-integrity: of all records of the workspace."""
    integrity = queries.integrity(workspace=page.workspace)
    damages = (
        queries.damages(workspace=page.workspace, limit=DAMAGES_SHOWN) if integrity.damaged else []
    )
    return {"integrity": integrity, "damages": damages, "late_anchors": sender.late()}


def board_stuck(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-stuck."""
    return stuck.board_stuck(page.stuck)


def board_incidents(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-incidents."""
    opened, untaken = open_incidents(workspace=page.workspace)
    return {"open_incidents": opened, "untaken_incidents": untaken}


def board_breakers(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-breakers."""
    rows = page.open_breakers
    return {"breakers": shown_breakers(page.workspace, rows), "rights": rights_of(roles)}


def board_budgets(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-budgets."""
    return {"budgets": page.reached_budgets}


def board_lanes(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-lanes."""
    cursor = page.listed.next_cursor if page.statuses else ""
    return {
        "lanes": page.lanes(order_for(roles)),
        "rights": rights_of(roles),
        "columns": page.columns,
        "headings": board_columns.headings(page.columns),
        "more_cells": not board_columns.IN_ROW.issuperset(page.columns),
        "refetched": page.filtered or page.columns != USUAL,
        "q": page.q,
        "status": ",".join(page.statuses),
        "chips": page.chips,
        "filtered": page.filtered,
        "more": page.address(page.statuses, after=cursor) if cursor else "",
        "looked_at": page.looked_at,
        "problem": page.problem,
        "filter_chips": page.filter_chips,
        "hidden": page.hidden,
        "behind": page.behind,
    }


def board_feed(page: BoardPage, roles: Roles) -> dict[str, Any]:
    """Region board-feed."""
    return {"feed": page.feed, "feed_titles": page.feed_titles, "people": page.people}
