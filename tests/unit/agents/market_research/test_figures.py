"""Every figure of the report and the chart, worked out again with the standard library alone."""

import json
import re
from typing import Any

import matplotlib as mpl
import pytest

from gatepost_agents.market_research.chart import STYLE, chart, chart_data, draw
from gatepost_agents.market_research.input.datasets import dataset_path
from tests.unit.agents.market_research.market import SHOP_ROWS, Outcome, all_steps, shop_table
from tests.unit.agents.market_research.oracle import Table, reckon

type Case = tuple[Outcome, dict[str, Any], dict[str, Any]]

FLIGHT_NUMBERS = (
    "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "flight", "air_time",
    "distance",
)  # fmt: skip


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Case:
    table = Table(
        path=dataset_path("flights"),
        measure="arr_delay",
        groups=("carrier", "origin"),
        numbers=FLIGHT_NUMBERS,
        period=lambda row: f"{row['year']}-{int(row['month']):02}",
    )
    return all_steps("flights", tmp_path_factory.mktemp("flights")), *reckon(table)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("shop")
    path = shop_table(folder / "orders.csv")
    table = Table(
        path=path,
        measure="Turnover (EUR)",
        groups=("Region", "Channel"),
        numbers=("Pieces", "Discount"),
        period=lambda row: f"{row['Placed on'][6:10]}-{row['Placed on'][3:5]}",
        delimiter=";",
        decimal=",",
    )
    return all_steps(path, folder), *reckon(table)


@pytest.fixture(params=[pytest.param("flights", marks=pytest.mark.slow), "shop"])
def case(request: pytest.FixtureRequest) -> Case:
    case: Case = request.getfixturevalue(request.param)
    return case


@pytest.mark.nightly
def test_every_figure_of_the_report_is_that_of_the_raw_file(case: Case) -> None:
    outcome, figures, _ = case
    assert len(figures) > 60
    assert outcome.report["figures"] == figures


@pytest.mark.slow
def test_the_chart_shows_the_figures_of_the_raw_file(case: Case) -> None:
    outcome, _, drawn = case
    data = chart_data(outcome.analysis)
    keys = {row["label"]: row["key"] for row in outcome.analysis["groups"][0]["rows"]}
    bars = [
        {"key": keys[bar["label"]], **{name: bar[name] for name in ("mean", "low", "high", "rows")}}
        for bar in data["bars"]
    ]
    assert bars == drawn["bars"]
    assert (data["overall"], data["trend"]) == (drawn["overall"], drawn["trend"])


def test_what_is_drawn_is_the_chart_data(case: Case) -> None:
    outcome, _, drawn = case
    with mpl.rc_context(STYLE):
        picture = draw(outcome.analysis, chart_data(outcome.analysis), "a file")
        bars, trend = picture.axes
        assert [bar.get_width() for bar in bars.patches] == [bar["mean"] for bar in drawn["bars"]]
        lines = [list(line.get_xdata()) for line in bars.lines[: len(drawn["bars"])]]
        assert lines == [[bar["low"], bar["high"]] for bar in drawn["bars"]]
        assert list(trend.lines[0].get_ydata()) == [point["mean"] for point in drawn["trend"]]


def test_every_number_in_the_text_is_a_figure(case: Case) -> None:
    outcome, figures, _ = case
    text = outcome.report["markdown"].replace("SHA-256", "")
    for known in (outcome.profile["source"]["title"], outcome.profile["source"]["citation"]):
        text = text.replace(known, "")
    text = re.sub(r"`[^`]*`|\b\d{4}-\d{2}\b|^\d+\. ", "", text, flags=re.MULTILINE)
    for group in outcome.analysis["groups"]:
        for row in group["rows"]:
            text = text.replace(row["label"], "")
    written = {float(item.replace(",", "")) for item in re.findall(r"-?\d[\d,]*\.?\d*", text)}
    assert written <= {float(value) for value in figures.values()}
    assert len(written) > 50


def test_each_finding_carries_its_figures(case: Case) -> None:
    outcome, figures, _ = case
    assert len(outcome.analysis["findings"]) >= 6
    for finding in outcome.analysis["findings"]:
        assert finding["figures"]
        assert finding["figures"].items() <= figures.items()


def test_the_state_between_the_steps_is_small_plain_json(case: Case) -> None:
    outcome, _, _ = case
    parts = (outcome.profile, outcome.summary, outcome.analysis, outcome.report)
    text = json.dumps(parts, allow_nan=False)
    assert json.loads(text) == list(parts)
    assert len(text) < 60_000
    assert all(type(value) in (int, float, str) for value in outcome.report["figures"].values())


def test_progress_is_told_often_and_ends_with_the_true_count(case: Case) -> None:
    outcome, figures, _ = case
    assert len(outcome.progress) >= 20
    done = [item[0] for item in outcome.progress]
    assert done == sorted(set(done))
    assert outcome.progress[-1][:2] == (figures["rows_in"], figures["rows_in"])


@pytest.mark.slow
def test_the_real_tables_have_the_size_and_gaps_that_make_them_worth_it(
    flights: Case, shop: Case
) -> None:
    assert flights[1]["rows_in"] == 336_776
    assert flights[1]["dropped.rows without arr_delay"] == 9_430
    assert shop[1]["rows_in"] == SHOP_ROWS
    assert shop[1]["dropped.exact duplicate rows"] == 40
    assert shop[1]["dropped.values in Turnover (EUR)"] > 0


@pytest.mark.slow
def test_the_same_analysis_gives_the_same_picture_bytes(shop: Case) -> None:
    one, two = (chart(shop[0].analysis, source="orders.csv") for _ in range(2))
    assert one == two
    assert one["png"].startswith(b"\x89PNG")
    assert b"<svg" in one["svg"]
    assert b"<dc:date>" not in one["svg"]
