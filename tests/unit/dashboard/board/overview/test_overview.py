"""The page of the overview: its period, drawings and tables; command and call beside it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from django.core.management import call_command

from dashboard.board.overview.figure import Column, Figure, money
from dashboard.board.overview.figures import FIGURES
from dashboard.board.overview.period import DAYS_MAX, period_of
from dashboard.board.overview.reads import Overview
from dashboard.board.overview.tiles import share, tiles, tone_of
from dashboard.errors import Invalid
from dashboard.html.charts.over_time import STEP, Series, over_time
from dashboard.html.charts.ranks import ranks
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.board.overview.fleets import fill

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("from=2026-11-26&to=2026-11-01", "is after the last day"),
        ("from=2026-01-01&to=2026-11-01", f"at most {DAYS_MAX} days"),
        ("from=2026-11-01&period=7d", "beside from and to"),
        ("from=0001-01-01&to=0001-01-02", "too far away"),
        ("from=9999-12-30&to=9999-12-31", "too far away"),
    ],
)
def test_a_period_that_is_none_is_refused_by_page_and_call(
    cast: Cast, query: str, path: str
) -> None:
    for address in ("/overview/", "/overview/spending.csv", "/api/v1/overview/"):
        answer = cast.client("viewer").get(f"{address}?{query}")
        assert answer.status_code == 422
        assert path in answer.content.decode()


def test_periods_begin_and_end_on_whole_hours_and_days() -> None:
    now = datetime.now(UTC)
    for name, unit, n in (("24h", "hour", 24), ("7d", "day", 7), ("30d", "day", 30)):
        period = period_of(name=name)
        assert (period.unit, len(period.times), len(period.labels)) == (unit, n, n)
        assert period.low < now < period.high
        assert period.high - now <= timedelta(days=1)
    assert period_of().name == "7d"
    chosen = period_of(first="2026-02-27", last="2026-03-01")
    assert [f"{at:%d}" for at in chosen.times] == ["27", "28", "01"]
    assert period_of(first="2026-03-01", last="2026-03-01").unit == "hour"
    for wrong in ("2026-02-30", "20260201", "yesterday", "2026-2-1", "٢٠٢٦-٠١-٠١"):
        with pytest.raises(Invalid):
            period_of(first=wrong)


def test_each_figure_has_a_drawing_with_words_a_table_and_a_csv(cast: Cast) -> None:
    fill(cast, threads=150)
    html = cast.client("viewer").get("/overview/?period=30d").content.decode()
    assert "<script" not in html.partition("<main")[2].partition("</main>")[0]
    sections = re.findall(r'<section class="card figure.*?</section>', html, re.DOTALL)
    assert len(sections) == len(FIGURES) - 1
    assert "No data for: Tokens saved by resuming." in html
    for section in sections:
        name = re.findall(r'id="(\w+)"', section)[0]
        drawings = re.findall(r'<svg[^>]*role="(?:img|group)".*?</svg>', section, re.DOTALL)
        assert drawings, name
        # Each bar that counts something leads to its threads, at the keyboard by the table.
        link = r'<a href="/\?q=[^"]+" tabindex="-1"(?: aria-label="[^"]+")?>\s*<(?:g|svg)'
        # The tables of the installation lead to no threads.
        assert (re.search(link, section) is None) == (name == "storage"), name
        if 'class="plot"' in section:
            assert re.search(
                r'class="scale[^>]+><span>[^<]+</span><span>[^<]*</span><span>[^<]+<', section
            )
        for svg in drawings:
            tree = ElementTree.fromstring(svg)
            assert tree.findtext("title")
            assert tree.findtext("desc")
            ids = [e.get("id") for e in tree.iter() if e.get("id")]
            assert set(str(tree.get("aria-labelledby")).split()) <= set(ids)
        assert "<details" in section
        (address,) = re.findall(r'href="(/overview/\w+\.csv[^"]*)"', section)
        answer = cast.client("viewer").get(address.replace("&amp;", "&"))
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert len(answer.content.decode().splitlines()) >= 2
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert 'style="' not in html


def test_an_empty_workspace_says_so_and_an_unknown_figure_is_not_there(cast: Cast) -> None:
    client = cast.client("viewer")
    html = client.get("/overview/").content.decode()
    (titles,) = re.findall(r"No data for: (.*?)\.</p>", html)
    assert titles.count(", ") >= len(FIGURES) - 1
    assert "figure" not in re.findall(r'<section class="card (\w+)', html)
    assert html.count("$0") <= 3  # in the tiles alone
    assert "their children are named apart." in html
    assert client.get("/overview/nothing.csv").status_code == 404
    assert client.get("/overview/?perod=7d").status_code == 422
    assert cast.client("nobody").get("/overview/").status_code == 403


def test_a_spreadsheet_takes_no_text_for_a_formula() -> None:
    columns = (Column("agent", "Agent", "text"), Column("cost", "Cost", "money"))
    figure = Figure("x", "X", "", columns, (("=HYPERLINK(1)", Decimal("-2.50")), ("a,b", None)))
    assert figure.csv().splitlines() == ["agent,cost", "'=HYPERLINK(1),'-2.5", '"a,b",']
    texts = ("＝1+1", "\n=1+1", "'=1+1", "=1+1", " x")
    written = replace(figure, rows=tuple((text, None) for text in texts)).csv()
    cells = [row[0] for row in csv.reader(io.StringIO(written, newline=""))]
    assert cells[1:] == ["'＝1+1", "'\n=1+1", "''=1+1", "'=1+1", " x"]


def test_bars_add_up_and_lines_have_gaps() -> None:
    plot = over_time(
        ["a", "b", "c"],
        bars=[Series("x", "done", [1, 3, 0]), Series("y", "fail", [1, 1, 0])],
        lines=[Series("z", "run", [None, 2, None])],
        words=lambda value: f"{value:g}",
    )
    assert plot is not None
    assert (plot.top, plot.width) == ("4", 30)
    assert [[(b.y, b.height) for b in c.bars] for c in plot.columns] == [
        [(75.0, 25.0), (50.0, 25.0)],
        [(25.0, 75.0), (0.0, 25.0)],
        [],
    ]
    assert plot.lines[0].d == plot.lines[0].dots == "M15 50h.01"
    assert plot.columns[1].title == "b: x 3, y 1, z 2"
    assert over_time(["a"], bars=[Series("x", "done", [0])], words=str) is None
    drawn = ranks(
        [("a", (1, 1)), ("b", (0, 4)), ("c", (0, 0))],
        kinds=[("x", "done"), ("y", "fail")],
        words=str,
    )
    assert drawn is not None
    assert [(row.name, row.value) for row in drawn.rows] == [("b", "4"), ("a", "2")]
    assert [(p.x, p.width) for p in drawn.rows[1].parts] == [(0.0, 25.0), (25.0, 25.0)]


@pytest.mark.parametrize(
    ("n", "whole", "text"),
    [(0, 0, "–"), (0, 9, "0%"), (9, 9, "100%"), (999, 1000, "99%"), (1, 1000, "1%"), (2, 3, "67%")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(n: int, whole: int, text: str) -> None:
    assert share(n, whole) == text


@pytest.mark.parametrize(
    ("wrong", "whole", "tone"),
    [
        (0, 0, ""),
        (0, 50, ""),
        (1, 50, ""),
        (2, 41, ""),
        (1, 20, "t-wait"),
        (9, 100, "t-wait"),
        (1, 10, "t-fail"),
        (3, 3, "t-fail"),
        (Decimal("0.004"), Decimal("0.09"), ""),
        (Decimal("0.09"), Decimal("0.09"), "t-fail"),
        (Decimal("0.01"), Decimal(0), "t-fail"),
    ],
)
def test_one_failure_of_many_colours_nothing(
    wrong: int | Decimal, whole: int | Decimal, tone: str
) -> None:
    assert tone_of(wrong, whole) == tone


def test_amounts_show_digits_that_say_something() -> None:
    amounts = ("0", "1234.5", "0.5", "0.0042", "0.000001")
    assert [money(Decimal(text)) for text in amounts] == [
        "$0",
        "$1,234.50",
        "$0.50",
        "$0.0042",
        "$0.000001",
    ]


def test_the_command_answers_what_the_call_does(cast: Cast) -> None:
    fill(cast, threads=60)
    out = io.StringIO()
    call_command("overview", "--period", "30d", "--json", "--as", "viewer", stdout=out)
    shown = json.loads(out.getvalue())["figures"]
    called = cast.client("viewer").get("/api/v1/overview/?period=30d").json()["figures"]
    # Signing in has added to the tables: test_storage looks again.
    assert called.pop("storage")["title"] == shown.pop("storage")["title"]
    assert shown == called
    out = io.StringIO()
    call_command("overview", "--figure", "spending", "--csv", "--as", "viewer", stdout=out)
    page = cast.client("viewer").get("/overview/spending.csv").content.decode()
    assert out.getvalue().splitlines() == page.splitlines()


def test_tiles_show_their_trend_and_what_is_queued_now(cast: Cast) -> None:
    fill(cast, threads=60)
    before = Overview(cast.workspace, period_of(name="7d")).load.queued
    scene.start(cast.workspace, scene.make_agent())
    look = Overview(cast.workspace, period_of(name="7d"))
    assert (look.load.queued, look.slots) == (before + 1, 0)
    assert look.load.oldest is not None
    made = {tile.name: tile for tile in tiles(look)}
    started = made["Started"].trend
    assert started is not None
    assert started.width == 7 * STEP
    assert made["Running now"].beside == f"no worker, {before + 1} queued"
    assert made["Running now"].tone == "t-fail", "no worker is there"
    html = cast.client("viewer").get("/overview/?period=7d").content.decode()
    assert html.count('class="trend"') == sum(tile.trend is not None for tile in made.values())
    assert f"{before + 1} queued, oldest <time" in html
