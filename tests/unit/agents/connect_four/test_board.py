"""Positions and search against a board of lists, cell by cell."""

from __future__ import annotations

import random
from itertools import product

import pytest

from gatepost_agents.connect_four import search
from gatepost_agents.connect_four.board import (
    COLUMN,
    COLUMNS,
    EMPTY,
    ROWS,
    SIDES,
    STONES,
    Position,
    winning_cells,
)

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


def stones_of(moves: str) -> dict[tuple[int, int], str]:
    """{(column, row): stone} as the rules say it."""
    stones: dict[tuple[int, int], str] = {}
    for number, move in enumerate(moves):
        column = int(move) - 1
        height = sum(1 for at, _ in stones if at == column)
        stones[column, height] = STONES[number % 2]
    return stones


def has_line(stones: dict[tuple[int, int], str], stone: str) -> bool:
    for (column, row), (dx, dy) in product(stones, DIRECTIONS):
        if all(stones.get((column + i * dx, row + i * dy)) == stone for i in range(4)):
            return True
    return False


def played(seed: int) -> str:
    """A game of random moves to its end."""
    chance, moves = random.Random(seed), ""
    while not Position.of(moves).is_over:
        open_columns = [c for c in range(1, 8) if Position.of(moves).playable & COLUMN[c - 1]]
        moves += str(chance.choice(open_columns))
    return moves


@pytest.mark.parametrize("seed", range(40))
def test_a_position_is_that_of_a_board_of_cells(seed: int) -> None:
    game = played(seed)
    for n in range(len(game) + 1):
        position, stones = Position.of(game[:n]), stones_of(game[:n])
        rows = [
            " ".join(stones.get((column, row), EMPTY) for column in range(COLUMNS))
            for row in reversed(range(ROWS))
        ]
        assert position.rows() == rows
        lines = [side for side, stone in zip(SIDES, STONES, strict=True) if has_line(stones, stone)]
        assert [position.winner] == (lines or [""])
        if lines:
            continue
        cells = winning_cells(position.own, position.taken)
        for column, row in product(range(COLUMNS), range(ROWS)):
            wins = (column, row) not in stones and has_line(
                {**stones, (column, row): STONES[n % 2]}, STONES[n % 2]
            )
            assert bool(cells >> (column * (ROWS + 1) + row) & 1) == wins, (game[:n], column, row)


def value_by_rules(moves: str, depth: int) -> int:
    """The value for the side to move by plain search to the end of the depth; 0 beyond it."""
    position = Position.of(moves)
    if position.winner:
        return position.n_moves - search.WIN
    if position.is_over or depth == 0:
        return 0
    return max(
        -value_by_rules(f"{moves}{c}", depth - 1)
        for c in range(1, COLUMNS + 1)
        if position.playable & COLUMN[c - 1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_decided_game_is_found_and_never_made_up(seed: int) -> None:
    game, depth = played(seed), 3
    for n in range(max(0, len(game) - 6), len(game)):
        position = Position.of(game[:n])
        for column, value in search.values(position, depth).items():
            plain = -value_by_rules(f"{game[:n]}{column}", depth - 1)
            if abs(plain) > search.DECIDED:
                assert value == plain
            elif abs(value) > search.DECIDED:  # it sees two moves further than its depth
                assert value == -value_by_rules(f"{game[:n]}{column}", depth + 1)


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        ("8", "Move 1 is '8', and columns are 1 to 7."),
        ("4444444", "Column 4 was full before move 7."),
        ("12121213", "The game was over before move 8."),
    ],
)
def test_moves_that_break_the_rules_are_refused(moves: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Position.of(moves)


def test_values_in_words() -> None:
    words = [search.in_words(value) for value in (search.WIN - 23, 24 - search.WIN, 4, -1, 0)]
    assert words == ["wins by move 23", "loses by move 24", "+4", "-1", "even"]
