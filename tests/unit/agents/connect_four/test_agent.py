"""A series of games: the same from the same seed, published after a yes alone, forked, undone."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from checkpoints import store
from checkpoints.hot import streams
from checkpoints.hot.appends import Appends
from checkpoints.states import Status
from gatepost import Harness, Reject
from gatepost_agents.connect_four.agent import graph
from gatepost_agents.connect_four.board import Position
from gatepost_agents.connect_four.report import OUTCOMES, sentence
from tests.unit.workers.conftest import Bench
from workers.code.registry import load

pytestmark = pytest.mark.requirement("F09")
SERIES: dict[str, Any] = {"games": 3, "looks_ahead": 2}


@pytest.fixture
def published(tmp_path: Path, settings: Any) -> Path:
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    return tmp_path / "published"


def test_a_series_is_played_by_the_rules_and_published_after_a_yes(published: Path) -> None:
    thread = Harness(graph).play(SERIES, decide="approve")
    assert thread.status == "succeeded", thread
    state = thread.state
    games = state["results"]
    assert [game["game"] for game in games] == [1, 2, 3]
    for game in games:
        position = Position.of(game["moves"])
        assert position.is_over
        assert game["winner"] == (position.winner or "Drawn")
    assert list(thread.thoughts) == [sentence(game) for game in games]
    assert sum(state["score"].values()) == 3
    assert set(state["score"]) <= set(OUTCOMES)
    # A move is a step, and a step is one move.
    steps = [point for point in thread.checkpoints if point.nodes == ("play",)]
    assert len(steps) == sum(len(game["moves"]) for game in games)
    (table,) = published.glob("*/*/games.csv")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["moves"] for row in rows] == [game["moves"] for game in games]
    report = (table.parent / "report.md").read_text()
    assert report.startswith("# Connect four: 3 games\n")
    shortest = min(games, key=lambda game: len(game["moves"]))
    assert "\n".join(Position.of(shortest["moves"]).rows()) in report


def test_the_same_seed_plays_the_same_games_and_another_one_others() -> None:
    def games(**more: int) -> list[str]:
        state = Harness(graph).play(SERIES | more, decide="approve").state
        return [game["moves"] for game in state["results"]]

    first = games()
    assert games() == first
    assert games(seed=2) != first
    assert len(set(first)) == len(first)


def test_without_a_yes_nothing_is_published(published: Path) -> None:
    thread = Harness(graph).play(SERIES, decide=Reject("Too few games."))
    assert thread.state["outcome"] == "Not published: Too few games."
    assert not published.exists()


def test_moves_at_the_start_are_those_of_the_first_game() -> None:
    thread = Harness(graph).play(SERIES | {"moves": "4453"}, decide="approve")
    games = [game["moves"] for game in thread.state["results"]]
    assert games[0].startswith("4453")
    # A game that was over before is counted as it is.
    thread = Harness(graph).play(SERIES | {"games": 1, "moves": "1212121"}, decide="approve")
    assert [game["moves"] for game in thread.state["results"]] == ["1212121"]
    assert thread.state["score"] == {"Red": 1}


def test_moves_that_cannot_be_are_an_error_that_names_the_move() -> None:
    thread = Harness(graph).play(SERIES | {"moves": "4444444"})
    assert thread.status == "failed"
    assert "Column 4 was full before move 7." in thread.reason


def test_another_move_in_a_fork_is_another_game_and_the_base_stays(published: Path) -> None:
    base = Harness(graph).play(SERIES, decide="approve")
    at = 5
    moves = base.state_at(at)["moves"]
    other = next(c for c in "1234567" if c != moves[-1])
    fork = base.fork(at=at, changes={"moves": moves[:-1] + other}, decide="approve")
    assert fork.state["results"][0]["moves"].startswith(moves[:-1] + other)
    assert fork.state["results"][0]["moves"] != base.state["results"][0]["moves"]
    assert len(fork.state["results"]) == 3
    assert base.state["results"][0]["moves"].startswith(moves)


def test_a_rollback_takes_the_published_report_back(published: Path) -> None:
    thread = Harness(graph).play(SERIES, decide="approve")
    assert list(published.glob("*/*/report.md"))
    thread.roll_back(to=4)
    assert not list(published.glob("*/*/report.md"))
    assert len(thread.state["moves"]) == 4


@pytest.mark.usefixtures("real_db", "hot_store")
def test_its_moves_wait_in_the_hot_store_as_entries_of_about_a_kilobyte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    append = Appends.append

    def noted(self: Appends, entries: Sequence[bytes]) -> None:
        sizes.extend(map(len, entries))
        append(self, entries)

    monkeypatch.setattr(Appends, "append", noted)
    workspace = store.create_workspace("games", actor="user:0")
    bench = Bench(load(["gatepost_agents.connect_four"])["connect-four"], workspace)
    thread = bench.start(**SERIES)
    assert bench.advance(thread).status is Status.WAITING
    assert streams.lag_of([thread])[thread].entries == 0, "the gate comes after a drain"
    games = bench.state(thread)["results"]
    assert len(sizes) == sum(len(game["moves"]) for game in games) + 1, "and the draft"
    assert 512 <= median(sizes) <= 1_536
    assert bench.intact(thread)
