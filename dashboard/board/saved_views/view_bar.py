"""The saved views above a board: chips with their counts, and which one this board is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import parse_qs

from checkpoints import queries
from dashboard.board.filters.address import BoardAddress, readable
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.models import SavedView as ViewRow

from . import view_actions
from .surfaces import BOARD
from .view_actions import NAME_MAX

CHIPS: Final = 12
COUNTED: Final = 8


@dataclass(frozen=True, slots=True)
class ViewChip:
    """A view above the board; `n` is empty where counting would cost too much."""

    row: ViewRow
    href: str
    problem: str
    current: bool
    n: str
    whose: str


@dataclass
class ViewBar:
    """The views that a person sees above a board; nothing is read before it is drawn."""

    actor: Actor
    board: BoardAddress

    name_max = NAME_MAX

    @property
    def text(self) -> str:
        """The address of this board, as it would be saved."""
        return self.board.text

    @property
    def may_save(self) -> bool:
        """Return whether the person may save this board: it has no mistake in its query."""
        return may(self.actor, "save_view") and not readable(self.text, self.actor.workspace)[1]

    @cached_property
    def rows(self) -> list[ViewRow]:
        """All views of the person, then those of others."""
        return view_actions.list_views(self.actor, BOARD)

    @property
    def more(self) -> int:
        """Number of views that stand on their own page alone."""
        return max(0, len(self.rows) - CHIPS)

    @cached_property
    def chips(self) -> list[ViewChip]:
        """The first of them."""
        rows = self.rows[:CHIPS]
        others = {row.owner for row in rows if row.owner != self.actor.person}
        names = people(others) if others else {}
        made = [(row, *readable(row.address, row.workspace_id)) for row in rows]
        counts = self._counts([address for _, address, problem in made if not problem])
        return [
            ViewChip(
                row,
                f"?{address}",
                problem,
                address == self.text,
                "" if problem else counts.get(address, ""),
                "" if row.owner == self.actor.person else names.get(row.owner, row.owner),
            )
            for row, address, problem in made
        ]

    def _counts(self, addresses: Sequence[str]) -> Mapping[str, str]:
        """{address: number of its threads, such as 4 or 99+}, of those that are cheap to count."""
        wanted = list(dict.fromkeys(addresses))[:COUNTED]
        selections = [BoardAddress.read(parse_qs(address)).selection for address in wanted]
        counts = queries.bounded_counts(selections, workspace=self.actor.workspace)
        most = queries.SHOWN_MAX
        return {
            address: f"{most - 1}+" if n >= most else str(n)
            for address, n in zip(wanted, counts, strict=True)
            if n is not None
        }
