"""The demo's long agent: right records, and a pause that holds no slot."""

from __future__ import annotations

import csv

import pytest

from gatepost_agents.market_research.input.datasets import dataset_path
from gatepost_agents.weather_watch.agent import STEPS, graph
from gatepost_agents.weather_watch.days import AIRPORTS, DAYS, EXTREMES, broken, extremes_of
from workers.testing.harness import Harness


@pytest.mark.slow
def test_records_of_the_first_days_are_those_of_the_table() -> None:
    days = 3
    thread = Harness(graph).play({"pause": 0, "at_most": days * len(AIRPORTS)})
    assert thread.status == "succeeded", thread
    with dataset_path("weather").open(encoding="utf-8", newline="") as lines:
        rows = [
            row for row in csv.DictReader(lines) if row["month"] == "1" and int(row["day"]) <= days
        ]
    for what, (column, largest, unit) in EXTREMES.items():
        known = [float(row[column]) for row in rows if row[column] != "NA"]
        expected = round(max(known) if largest else min(known), 2)
        assert thread.state["records"][what]["value"] == expected, what
        assert f"{expected:g} {unit}" in thread.state["outcome"]
    assert thread.state["looked_at"] == days * len(AIRPORTS)
    assert list(thread.thoughts) == thread.state["log"]


def test_the_table_has_a_day_for_each_step() -> None:
    path = dataset_path("weather")
    last = extremes_of(path, STEPS - 1)
    assert (last["airport"], last["date"]) == (AIRPORTS[-1], "2013-12-30")
    assert extremes_of(path, 3)["date"] == "2013-01-02"
    assert STEPS == 3 * DAYS


def test_only_a_new_extreme_is_a_record() -> None:
    day = {"date": "2013-01-02", "airport": "JFK", "values": {"hottest": 40.0, "coldest": 20.0}}
    former = {"value": 40.0, "date": "2013-01-01", "airport": "JFK"}
    assert broken({"hottest": former}, day) == {
        "coldest": {"value": 20.0, "date": "2013-01-02", "airport": "JFK"}
    }


def test_it_sleeps_between_two_days() -> None:
    thread = Harness(graph).play({"pause": 900, "at_most": 2})
    assert thread.status in ("sleeping", "succeeded")
    assert thread.state["looked_at"] >= 1
