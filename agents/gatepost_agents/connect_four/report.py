"""The report on a series: who won, by which first move, and its shortest and longest game."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .board import COLUMNS, SIDES, Position

Game = Mapping[str, Any]
DRAWN = "Drawn"
OUTCOMES = (*SIDES, DRAWN)


def title_of(games: int) -> str:
    """Such as "Connect four: 100 games"."""
    return f"Connect four: {games:,} {'game' if games == 1 else 'games'}"


def report(games: Sequence[Game], *, looks_ahead: int, seed: int) -> str:
    """The Markdown text; each game is {"game", "winner", "moves"}."""
    total = Counter(game["winner"] for game in games)
    by_first = {
        column: Counter(g["winner"] for g in games if g["moves"].startswith(str(column)))
        for column in range(1, COLUMNS + 1)
    }
    rows = [_row("All", total)]
    rows += [_row(str(column), counts) for column, counts in by_first.items() if counts]
    head = ["| First move | Games | Red | Yellow | Drawn |", "| --- | ---: | ---: | ---: | ---: |"]
    by_length = sorted(games, key=lambda game: len(game["moves"]))
    return "\n\n".join(
        [
            f"# {title_of(len(games))}",
            f"Both sides looked {looks_ahead} moves ahead. Red moved first.",
            "\n".join([*head, *rows]),
            "## The shortest game",
            *_shown(by_length[0]),
            "## The longest game",
            *_shown(by_length[-1]),
            "## Method",
            "- The first three moves of each game are drawn by the seed "
            f"({seed}); after that each side takes the best move that it finds.\n"
            "- No model was asked. `games.csv` has all moves.",
            "",
        ]
    )


def _row(name: str, counts: Mapping[str, int]) -> str:
    cells = [name, *(f"{n:,}" for n in (sum(counts.values()), *(counts[o] for o in OUTCOMES)))]
    return f"| {' | '.join(cells)} |"


def _shown(game: Game) -> list[str]:
    board = "\n".join(Position.of(game["moves"]).rows())
    return [f"{sentence(game)} Moves: `{game['moves']}`.", f"```\n{board}\n```"]


def sentence(game: Game) -> str:
    """Such as "Game 12: Red wins in 27 moves."."""
    if game["winner"] == DRAWN:
        return f"Game {game['game']:,} is drawn."
    return f"Game {game['game']:,}: {game['winner']} wins in {len(game['moves'])} moves."


def table(games: Sequence[Game]) -> bytes:
    """All games as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("game", "winner", "moves"))
    writer.writerows((game["game"], game["winner"], game["moves"]) for game in games)
    return file.getvalue().encode()
