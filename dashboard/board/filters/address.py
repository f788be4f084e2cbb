"""The address of a board: what narrows it, which columns its rows have, how dense they are.

One function reads it, for the page and for views that are saved: `BoardAddress.read`, of words that
`first_wrong` has checked against NARROWS and SHOWN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import urlencode
from uuid import UUID

from checkpoints import queries
from checkpoints.queries import Selection, TreeFilter
from checkpoints.states import Status
from dashboard.errors import Invalid
from dashboard.fields.filters import PAGE, given_at, page_values, read
from dashboard.fields.parameters import Values, Wrong, address_lists, first_wrong, one_of, some_of
from dashboard.fields.thread_filters import THREADS, selection_of

# The columns that a row may have, as they stand from left to right, with their headings.
COLUMNS: Final[Mapping[str, str]] = {
    "agent": "Agent",
    "node": "Next node",
    "step": "Step",
    "since": "In status",
    "age": "Age",
    "idle": "Idle",
    "cost": "Cost",
    "tokens": "Tokens",
    "labels": "Labels",
    "worker": "Worker",
}
USUAL: Final = ("node", "step", "since", "age")
# The column that every board has: it alone means no other.
ALWAYS: Final = "thread"
DENSITIES: Final = ("comfortable", "compact")
# What narrows a board, for each page that has the address of one.
FILTERS: Final = given_at(THREADS, PAGE)
NARROWS: Final[Mapping[str, Values]] = page_values(THREADS)
# Somebody who looks for certain threads finds them wherever they stand in a tree.
_ANYWHERE: Final = ("q", "damaged")
# How its rows look. A form sends a column for each box that is ticked.
COLUMN_WORDS: Final[Mapping[str, Values]] = {"columns": some_of((ALWAYS, *COLUMNS))}
DENSITY: Final = one_of(DENSITIES)
SHOWN: Final[Mapping[str, Values]] = {**COLUMN_WORDS, "density": DENSITY}


@dataclass
class BoardAddress:
    """A board by its address; `values` are those of its FILTERS that are given, by name.

    See `dashboard.board.board` for what it shows.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""
    columns: tuple[str, ...] = USUAL
    density: str = DENSITIES[0]

    @classmethod
    def read(cls, lists: Mapping[str, Sequence[str]], **others: Any) -> Self:
        """The board of these parameters, which were checked; `others` are further fields."""
        words = {name: values[-1].strip() for name, values in lists.items() if values}
        columns = ",".join(lists.get("columns", ())).split(",")
        return cls(
            values=read(FILTERS, words),
            after=words.get("after", ""),
            columns=tuple(one for one in COLUMNS if one in columns) if any(columns) else USUAL,
            density=words.get("density") or DENSITIES[0],
            **others,
        )

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that it is narrowed to; none: all."""
        return tuple(self.values.get("status", ()))

    @property
    def q(self) -> str:
        """Its query."""
        return str(self.values.get("q", ""))

    @property
    def held(self) -> bool:
        """True if it lists the children that begin when others end, and no other thread."""
        return "held" in self.values

    @property
    def filter_words(self) -> dict[str, str]:
        """Filters of this board, without statuses: {parameter: value}."""
        return {
            one.name: one.kind.text(self.values[one.name])
            for one in FILTERS
            if one.name in self.values and one.name != "status"
        }

    @property
    def words(self) -> dict[str, str]:
        """Filters, columns and density of this board, without statuses: {parameter: value}."""
        usual = self.columns == USUAL
        shown = {
            "columns": "" if usual else ",".join(self.columns) or ALWAYS,
            "density": "" if self.density == DENSITIES[0] else self.density,
        }
        return self.filter_words | {name: text for name, text in shown.items() if text}

    @property
    def selection(self) -> Selection:
        """Conditions of its list of threads, as `queries.threads` takes them."""
        return replace(self._narrowed, tree=self.rows_at)

    @property
    def _narrowed(self) -> Selection:
        return selection_of(self.values)

    @property
    def tree(self) -> TreeFilter:
        """The place in family trees, as its address names one."""
        return self._narrowed.tree

    @property
    def tree_filter(self) -> TreeFilter:
        """The place in family trees, with what is left out."""
        if any(name in self.values for name in _ANYWHERE):
            return self.tree
        if self.values.keys() - {"status"}:
            return replace(self.tree, held=False)
        return TreeFilter(top=True)

    @property
    def rows_at(self) -> TreeFilter:
        """The place in family trees of the threads that are listed: held ones, or all others."""
        return replace(self.tree, held=True) if self.held else self.tree_filter

    def address(self, statuses: Iterable[Status], **others: str) -> str:
        """The same board with other statuses; `others` replaces what else it has."""
        request = {"status": ",".join(statuses)} | self.words | others
        query = urlencode({name: text for name, text in request.items() if text}, safe=",")
        return f"?{query}" if query else "?"

    @property
    def text(self) -> str:
        """The address as it is saved: without `?`, and without a place in a list."""
        return self.address(self.statuses).removeprefix("?")


def read_address(text: str, workspace: UUID | None = None) -> BoardAddress:
    """The board of a text such as `status=failed&q=age:>2h`.

    Raises Invalid, which names the word that no board takes, and InvalidQuery for one of its query,
    also for a channel that no agent of this workspace declares as searchable.
    """
    lists = _lists(text)
    if wrong := _wrong(lists):
        raise Invalid("$.address", wrong.explained("a board"))
    board = BoardAddress.read(lists)
    queries.checked_query(board.q, workspace)
    return board


def readable(text: str, workspace: UUID | None = None) -> tuple[str, str]:
    """(the address that can be opened, why it is another one or shows nothing) of a saved text.

    A column or density that is no longer known is left out. A filter never is, since the board
    would show more than was saved: its page explains the word.
    """
    lists, problem = _lists(text), ""
    for name, values in SHOWN.items():
        words = [word for value in lists.get(name, ()) for word in value.split(",") if word]
        known = [word for word in words if values.fits(word)]
        if gone := [word for word in words if word not in known]:
            problem = f"“{gone[0][:80]}” of “{name}” is no longer known and left out."
            lists[name] = [",".join(known)]
    if wrong := _wrong(lists):
        return text, wrong.explained("The board")
    board = BoardAddress.read(lists)
    try:
        queries.checked_query(board.q, workspace)
    except queries.InvalidQuery as error:
        return text, f"“{error.shown}” {error.explanation}"
    return board.text, problem


def _lists(text: str) -> dict[str, list[str]]:
    lists = address_lists(text)
    lists.pop("after", None)  # a place in a list, which nobody means to keep
    return lists


def _wrong(lists: Mapping[str, Sequence[str]]) -> Wrong | None:
    return first_wrong(lists.items(), {**NARROWS, "density": DENSITY}, COLUMN_WORDS)
