"""Columns of the board: the headings of its table, and the choice of columns and density."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from dashboard.board.filters.address import ALWAYS, COLUMNS, DENSITIES, SHOWN, USUAL, BoardAddress

# Beside them a thread's title has no room without the whole width of the page.
NARROW_MAX: Final = len(USUAL)
_RIGHT: Final = frozenset({"since", "age", "idle", "cost", "tokens"})
_BEFORE_STATUS: Final = ("agent", "node", "step")
# Those of the template of a row; all others have one of their own, which few boards need.
IN_ROW: Final = frozenset({*_BEFORE_STATUS, "since", "age"})


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column; numbers stand at the right."""

    name: str
    word: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Display:
    """The look of a board for the form that changes it: columns, densities, which are on.

    `shown_pairs` are the parameters of the look, `rest` all others of the address.
    """

    columns: list[tuple[str, str, bool]]
    densities: list[tuple[str, bool]]
    always: str
    shown_pairs: list[tuple[str, str]]
    rest: list[tuple[str, str]]
    classes: str


def rows_of(usual: int, columns: Collection[str]) -> int:
    """The rows of a page with these columns, where one with few has the usual number.

    A board with all of them is as heavy as the usual one.
    """
    return usual if len(columns) <= NARROW_MAX else usual * 3 // 4


def headings(columns: Collection[str]) -> list[Heading]:
    """The heads of the columns between the title and the next action, from left to right.

    The next node and the step share a cell.
    """
    shown = [name for name in COLUMNS if name in columns]
    if "node" in shown and "step" in shown:
        shown.remove("node")
    before = [name for name in shown if name in _BEFORE_STATUS]
    after = [name for name in shown if name not in _BEFORE_STATUS]
    made = [Heading(name, COLUMNS[name], name in _RIGHT) for name in (*before, *after)]
    return [*made[: len(before)], Heading("status", "Status"), *made[len(before) :]]


def display(board: BoardAddress) -> Display:
    """The look of a board, as its page offers to change it."""
    status = [("status", ",".join(board.statuses))] if board.statuses else []
    words = [*status, *board.words.items()]
    wide = len(board.columns) > NARROW_MAX
    return Display(
        columns=[(name, word, name in board.columns) for name, word in COLUMNS.items()],
        densities=[(name, name == board.density) for name in DENSITIES],
        always=ALWAYS,
        shown_pairs=[pair for pair in words if pair[0] in SHOWN],
        rest=[pair for pair in words if pair[0] not in SHOWN],
        classes=" ".join(["board", *["wide"] * wide, *["compact"] * (board.density == "compact")]),
    )
