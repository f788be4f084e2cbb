"""The address of a board: what narrows it, which columns its rows have, how dense they are.

One function reads it, for the page and for views that are saved: `BoardAddress.read`, of words that
`first_wrong` has checked against NARROWS and SHOWN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from urllib.parse import urlencode
from uuid import UUID

from checkpoints import queries
from checkpoints.queries import ANYWHERE, Selection, TreeFilter
from checkpoints.states import Status
from dashboard.errors import Invalid
from dashboard.fields.parameters import (
    DEPTH,
    FLAG,
    ID,
    QUERY,
    TEXT,
    Values,
    Wrong,
    address_lists,
    first_wrong,
    one_of,
    some_of,
)

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
NARROWS: Final[Mapping[str, Values]] = {
    "status": some_of([*map(str, Status)]),
    "agent": TEXT,
    "framework": TEXT,
    "q": QUERY,
    "damaged": FLAG,
    "parent": ID,
    "root": ID,
    "depth": DEPTH,
    "children": FLAG,
    "held": FLAG,
}
# How its rows look. A form sends a column for each box that is ticked.
COLUMN_WORDS: Final[Mapping[str, Values]] = {"columns": some_of((ALWAYS, *COLUMNS))}
DENSITY: Final = one_of(DENSITIES)
SHOWN: Final[Mapping[str, Values]] = {**COLUMN_WORDS, "density": DENSITY}


@dataclass
class BoardAddress:
    """A board by its address; see `dashboard.board.board` for what it shows."""

    statuses: tuple[Status, ...] = ()
    agent: str = ""
    framework: str = ""
    q: str = ""
    after: str = ""
    damaged: bool = False
    tree: TreeFilter = ANYWHERE
    children: bool = False
    held: bool = False
    columns: tuple[str, ...] = USUAL
    density: str = DENSITIES[0]

    @classmethod
    def read(cls, lists: Mapping[str, Sequence[str]], **others: Any) -> Self:
        """The board of these parameters, which were checked; `others` are further fields."""
        words = {name: values[-1].strip() for name, values in lists.items() if values}
        statuses = [Status(one) for one in words.get("status", "").split(",") if one]
        columns = ",".join(lists.get("columns", ())).split(",")
        parent, root, depth = (words.get(name, "") for name in ("parent", "root", "depth"))
        return cls(
            statuses=tuple(dict.fromkeys(statuses)),
            agent=words.get("agent", ""),
            framework=words.get("framework", ""),
            q=words.get("q", ""),
            after=words.get("after", ""),
            damaged=bool(words.get("damaged")),
            children=bool(words.get("children")),
            held=bool(words.get("held")),
            tree=TreeFilter(
                UUID(parent) if parent else None,
                UUID(root) if root else None,
                int(depth) if depth else None,
            ),
            columns=tuple(one for one in COLUMNS if one in columns) if any(columns) else USUAL,
            density=words.get("density") or DENSITIES[0],
            **others,
        )

    @property
    def words(self) -> dict[str, str]:
        """Filters, columns and density of this board, without statuses: {parameter: value}."""
        usual = self.columns == USUAL
        words = {
            "q": self.q,
            "agent": self.agent,
            "framework": self.framework,
            **self.tree_words,
            "damaged": "1" if self.damaged else "",
            "columns": "" if usual else ",".join(self.columns) or ALWAYS,
            "density": "" if self.density == DENSITIES[0] else self.density,
        }
        return {name: text for name, text in words.items() if text}

    @property
    def tree_words(self) -> dict[str, str]:
        """The place in a tree as the address has it."""
        values = {name: getattr(self.tree, name) for name in ("parent", "root", "depth")}
        values |= {name: 1 for name in ("children", "held") if getattr(self, name)}
        return {name: str(value) for name, value in values.items() if value is not None}

    @property
    def tree_filter(self) -> TreeFilter:
        """The place in family trees, with what is left out."""
        if self.q or self.damaged:
            return self.tree  # somebody looks for certain threads, wherever they are
        if self.tree or self.agent or self.framework or self.children or self.held:
            return replace(self.tree, held=False)
        return TreeFilter(top=True)

    @property
    def rows_at(self) -> TreeFilter:
        """The place in family trees of the threads that are listed: held ones, or all others."""
        return replace(self.tree, held=True) if self.held else self.tree_filter

    @property
    def selection(self) -> Selection:
        """Conditions of its list of threads, as `queries.threads` takes them."""
        return Selection(
            statuses=self.statuses,
            agent=self.agent,
            framework=self.framework,
            q=self.q,
            damaged=self.damaged,
            tree=self.rows_at,
        )

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
