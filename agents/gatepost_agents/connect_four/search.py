"""Search for the best move: alpha-beta over the next moves, then a count of threats."""

from __future__ import annotations

from typing import Final

from .board import BOARD, BOTTOM, CELLS, COLUMN, COLUMNS, Position, winning_cells

# A win counts as this less the number of stones at its end: sooner is better.
WIN: Final = 1_000
# Values beyond are decided games.
DECIDED: Final = WIN - CELLS - 1
_CENTRE_FIRST: Final = tuple(COLUMN[column] for column in (3, 2, 4, 1, 5, 0, 6))
_THREAT: Final = 4  # an open four counts as four stones in the centre


def values(position: Position, depth: int) -> dict[int, int]:
    """{column from 1: value for the side to move} of each move, `depth` moves ahead."""
    results = {}
    for column in range(COLUMNS):
        if cell := position.playable & COLUMN[column]:
            after = position.after(cell)
            results[column + 1] = _of_move(after, depth - 1)
    return results


def _of_move(after: Position, depth: int) -> int:
    if after.winner:
        return WIN - after.n_moves
    return -_value(after.own, after.taken, depth, -WIN, WIN)


def _value(own: int, taken: int, depth: int, low: int, high: int) -> int:
    """The value for the side to move, exact between `low` and `high`."""
    playable, n_moves = (taken + BOTTOM) & BOARD, taken.bit_count()
    if winning_cells(own, taken) & playable:
        return WIN - n_moves - 1
    if n_moves == CELLS:
        return 0
    threats = winning_cells(taken ^ own, taken) & playable
    if threats & (threats - 1):
        return n_moves + 2 - WIN  # two, and only one can be answered
    if depth <= 0:
        return _estimate(own, taken)
    playable = threats or playable
    for column in _CENTRE_FIRST:
        if cell := playable & column:
            low = max(low, -_value(taken ^ own, taken | cell, depth - 1, -high, -low))
            if low >= high:
                break
    return low


def _estimate(own: int, taken: int) -> int:
    """Open fours and stones in the centre, those of the other side subtracted."""
    other, centre = taken ^ own, COLUMN[COLUMNS // 2]
    threats = winning_cells(own, taken).bit_count() - winning_cells(other, taken).bit_count()
    return _THREAT * threats + (own & centre).bit_count() - (other & centre).bit_count()


def in_words(value: int) -> str:
    """A value as people read it: "wins by move 23", "+4", "even"."""
    if abs(value) > DECIDED:
        return f"{'wins' if value > 0 else 'loses'} by move {WIN - abs(value)}"
    return f"{value:+}" if value else "even"
