"""The agent: play, one move a step, until the series is over; draft a report; publish it.

It is hot: moves wait in the hot store and reach PostgreSQL every two seconds, as the same
checkpoints that they would have been. The moves of a game are its whole state, so a fork that
changes them plays another game from there.
"""

from __future__ import annotations

import random
from typing import Annotated, Any, Literal

from pydantic import Field

from gatepost import END, Append, Context, Graph, State

from ..published.page import page
from ..published.report_tool import ask_and_publish, publish_report
from . import search
from .board import Position
from .report import DRAWN, report, sentence, table, title_of

OPENING = 3  # moves of each game that are drawn, so that no two games need be alike


def _result(title: str) -> Any:
    return Field(title=title, json_schema_extra={"readOnly": True})


class ConnectFour(State):
    """The series that is played, the board, and the games that are over."""

    games: Annotated[
        int,
        Field(
            title="Games",
            description="Each is about 30 steps.",
            ge=1,
            le=1_000,
            json_schema_extra={"x-title": "{} games of connect four"},
        ),
    ] = 100
    looks_ahead: Annotated[
        int,
        Field(title="Moves to look ahead", description="More is stronger and slower.", ge=1, le=8),
    ] = 4
    seed: Annotated[
        int, Field(title="Seed", description="The same seed plays the same games.", ge=0)
    ] = 1
    moves: Annotated[
        str,
        Field(
            title="Moves",
            description="Columns 1 to 7 from which the game continues, such as 4453. In a fork, "
            "change the last one to play another move.",
            pattern="^[1-7]{0,42}$",
        ),
    ] = ""

    board: Annotated[list[str], _result("Board")] = []
    outlook: Annotated[dict[str, str], _result("Value of each move")] = {}
    comment: Annotated[str, _result("Last move")] = ""
    finished: Annotated[int, _result("Games finished")] = 0
    score: Annotated[dict[str, int], _result("Score")] = {}
    results: Annotated[list[dict[str, Any]], Append(), _result("Results")] = []
    report: Annotated[dict[str, Any], _result("Report")] = {}
    log: Annotated[list[str], Append(), _result("Log")] = []
    published: Annotated[dict[str, Any], _result("Published")] = {}
    outcome: Annotated[str, _result("Outcome")] = ""


graph = Graph(
    "connect-four",
    ConnectFour,
    version=1,
    label="Connect four",
    description="Plays a series of games against itself, thousands of small steps, and asks before "
    "it publishes the results. Its steps wait in the hot store.",
    durability="hot",
)


def after_play(state: ConnectFour) -> Literal["play", "draft"]:
    """The next move, until the last game is over."""
    return "play" if state.finished < state.games else "draft"


@graph.node(then=after_play, label="Play a move")
def play(state: ConnectFour, ctx: Context) -> dict[str, Any]:
    """Make one move; a game that it ends is counted, and the next one begins."""
    position = Position.of(state.moves)
    if position.is_over:  # somebody gave a whole game
        return _finished(state, ctx, state.moves, position)
    values = search.values(position, state.looks_ahead)
    column = _chosen(state, values)
    side, value = position.side, search.in_words(values[column])
    moves = f"{state.moves}{column}"
    position = Position.of(moves)
    update = {
        "moves": moves,
        "board": position.rows(),
        "outlook": {str(c): search.in_words(value) for c, value in values.items()},
        "comment": f"Game {state.finished + 1}, move {len(moves)}: {side} plays column {column} "
        f"({value}).",
    }
    return update | _finished(state, ctx, moves, position) if position.is_over else update


def _chosen(state: ConnectFour, values: dict[int, int]) -> int:
    """The best move; one of the best where several are, and in an opening any."""
    # Of the state alone: `ctx.random` is an activity, which would drain the stream at each move.
    chance = random.Random(f"{state.seed}/{state.finished}/{state.moves}")  # noqa: S311 - a game
    best = max(values.values())
    is_open = len(state.moves) < OPENING
    return chance.choice([c for c, value in values.items() if is_open or value == best])


def _finished(state: ConnectFour, ctx: Context, moves: str, position: Position) -> dict[str, Any]:
    game: dict[str, Any] = {
        "game": state.finished + 1,
        "winner": position.winner or DRAWN,
        "moves": moves,
    }
    ctx.think(sentence(game))
    return {
        "moves": "",
        "board": position.rows(),
        "finished": game["game"],
        "score": {**state.score, game["winner"]: state.score.get(game["winner"], 0) + 1},
        "results": [game],
    }


@graph.node(then="publish", label="Draft the report")
def draft(state: ConnectFour, ctx: Context) -> dict[str, Any]:
    """Write the report and the table of all games."""

    def draft_report(games: list[dict[str, Any]], looks_ahead: int, seed: int) -> dict[str, Any]:
        text = report(games, looks_ahead=looks_ahead, seed=seed)
        title = title_of(len(games))
        return {
            "title": title,
            "markdown": ctx.artifact("report.md", text.encode(), "text/markdown"),
            "html": ctx.artifact("report.html", page(title, text).encode(), "text/html"),
            "games": ctx.artifact("games.csv", table(games), "text/csv"),
        }

    drafted = ctx.activity(draft_report, list(state.results), state.looks_ahead, state.seed)
    return {"report": drafted, "log": [f"Drafted “{drafted['title']}”."]}


@graph.node(then=END, label="Publish", gate=True)
def publish(state: ConnectFour, ctx: Context) -> dict[str, Any]:
    """Ask people, then write the report to the published folder."""
    return ask_and_publish(
        ctx,
        title=state.report["title"],
        files={
            "report.md": state.report["markdown"],
            "report.html": state.report["html"],
            "games.csv": state.report["games"],
        },
        description="The report and the table of games go to the published folder.",
    )


__all__ = ["ConnectFour", "graph", "publish_report"]
