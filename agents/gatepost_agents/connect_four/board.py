"""The board of connect four as two numbers, one bit for each cell.

A column has seven bits from the bottom up. The seventh stays empty, so that a shift by a column or
a diagonal never carries a stone to the other side of the board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

COLUMNS: Final = 7
ROWS: Final = 6
CELLS: Final = COLUMNS * ROWS
SIDES: Final = ("Red", "Yellow")  # Red moves first
STONES: Final = ("●", "○")
EMPTY: Final = "·"

_HEIGHT: Final = ROWS + 1
COLUMN: Final = tuple(((1 << ROWS) - 1) << column * _HEIGHT for column in range(COLUMNS))
BOTTOM: Final = sum(1 << column * _HEIGHT for column in range(COLUMNS))
BOARD: Final = sum(COLUMN)
# Across and both diagonals; upwards needs no more than the stones below.
_SHIFTS: Final = (_HEIGHT, _HEIGHT - 1, _HEIGHT + 1)


def winning_cells(stones: int, taken: int) -> int:
    """The empty cells that would complete four of these stones."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)
    for shift in _SHIFTS:
        pair = (stones << shift) & (stones << 2 * shift)
        cells |= pair & (stones << 3 * shift) | pair & (stones >> shift)
        pair = (stones >> shift) & (stones >> 2 * shift)
        cells |= pair & (stones << shift) | pair & (stones >> 3 * shift)
    return cells & (BOARD ^ taken)


def has_four(stones: int) -> bool:
    """True if four of these stones stand in a line."""
    for shift in (1, *_SHIFTS):
        pairs = stones & (stones >> shift)
        if pairs & (pairs >> 2 * shift):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Position:
    """A position: the stones of the side to move, and those of both."""

    own: int = 0
    taken: int = 0

    @classmethod
    def of(cls, moves: str) -> Self:
        """The position after these columns, such as "4453"; raises ValueError for a wrong one."""
        position = cls()
        for number, move in enumerate(moves, 1):
            if position.winner or not position.playable:
                raise ValueError(f"The game was over before move {number}.")
            if not move.isascii() or not move.isdigit() or not 1 <= int(move) <= COLUMNS:
                raise ValueError(f"Move {number} is {move!r}, and columns are 1 to {COLUMNS}.")
            cell = position.playable & COLUMN[int(move) - 1]
            if not cell:
                raise ValueError(f"Column {move} was full before move {number}.")
            position = position.after(cell)
        return position

    @property
    def n_moves(self) -> int:
        """The number of stones on the board."""
        return self.taken.bit_count()

    @property
    def playable(self) -> int:
        """The lowest empty cell of each column, whether or not the game is over."""
        return (self.taken + BOTTOM) & BOARD

    @property
    def winner(self) -> str:
        """The side that has four in a line; it made the last move."""
        return SIDES[(self.n_moves - 1) % 2] if has_four(self.taken ^ self.own) else ""

    @property
    def is_over(self) -> bool:
        """True if somebody has won, or the board is full."""
        return bool(self.winner) or self.n_moves == CELLS

    @property
    def side(self) -> str:
        """The side to move."""
        return SIDES[self.n_moves % 2]

    def after(self, cell: int) -> Self:
        """The position after the side to move takes a cell."""
        return type(self)(self.taken ^ self.own, self.taken | cell)

    def rows(self) -> list[str]:
        """The board as six lines of text, the highest first."""
        own = self.n_moves % 2
        results = []
        for row in reversed(range(ROWS)):
            cells = [1 << column * _HEIGHT + row for column in range(COLUMNS)]
            results.append(" ".join(self._cell(cell, own) for cell in cells))
        return results

    def _cell(self, cell: int, own: int) -> str:
        if not self.taken & cell:
            return EMPTY
        return STONES[own if self.own & cell else 1 - own]
