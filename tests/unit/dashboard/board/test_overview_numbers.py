"""Each number of the overview and of budgets is computed a second way by plain SQL."""

from __future__ import annotations

import csv
import html
import io
import re
from decimal import Decimal
from typing import Any

import pytest

from approvals import gates
from checkpoints import store
from checkpoints.queries.search.language import parse
from checkpoints.store.overview.budgets import set_budget
from dashboard.board.overview.behind import term
from dashboard.board.overview.figures import FIGURES
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.board.overview.fleets import fill

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G05")]
# Midnight before the first of 30 days, the last being today.
SINCE = "date_trunc('day', now(), 'UTC') - interval '29 days'"


def by_sql(cast: Cast, sql: str) -> list[tuple[Any, ...]]:
    return rows(sql.format(since=SINCE, w=f"'{cast.workspace}'"))


def overview(cast: Cast, who: str = "viewer", **query: str) -> dict[str, Any]:
    answer = cast.client(who).get("/api/v1/overview/", query)
    assert answer.status_code == 200, answer.content
    result: dict[str, Any] = answer.json()["figures"]
    return result


def sums(figure: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(sum(Decimal(row[name] or 0) for row in figure["rows"]) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("is_folded", [False, True])
def test_the_figures_are_those_of_the_tables(cast: Cast, is_folded: bool) -> None:
    fill(cast, threads=400)
    while is_folded and (store.fold_due() or gates.fold_decisions()):
        pass
    assert (by_sql(cast, "SELECT * FROM gp_decided_day") != []) is is_folded
    figures = overview(cast, period="30d")
    assert list(figures) == list(FIGURES)
    assert len(figures["throughput"]["rows"]) == 30
    (started,) = by_sql(
        cast, "SELECT count(*) FROM gp_thread WHERE workspace_id = {w} AND created_at >= {since}"
    )
    assert sums(figures["throughput"], "started") == started
    ended = by_sql(
        cast,
        "SELECT status, count(*), sum(cost) FROM gp_thread WHERE workspace_id = {w} "
        "AND status_since >= {since} AND status IN ('succeeded', 'failed', 'cancelled') "
        "GROUP BY status",
    )
    assert len(ended) == 3
    (every,) = [row for row in figures["outcomes"]["rows"] if row["agent"] == "all"]
    costs = {"succeeded": "cost_of_success", "failed": "cost_failed", "cancelled": "cost_cancelled"}
    for status, n, cost in ended:
        assert sums(figures["throughput"], status) == (n,)
        assert Decimal(every[costs[status]]) == cost
    failures = by_sql(
        cast,
        "SELECT agent, next_nodes ->> 0, count(*)::int FROM gp_thread WHERE workspace_id = {w} "
        "AND status = 'failed' AND status_since >= {since} GROUP BY 1, 2",
    )
    shown = [(row["agent"], row["node"], row["failed"]) for row in figures["failures"]["rows"]]
    assert sorted(shown) == sorted(failures)
    for name, column in (
        ("agents", "th.agent"),
        ("models", "coalesce(a.usage ->> 'model', a.tool)"),
        ("teams", "coalesce(th.labels ->> 'team', 'no team')"),
    ):
        spent = by_sql(
            cast,
            f"SELECT {column}, count(*)::int, sum((a.usage ->> 'tokens')::bigint)::int, "
            "coalesce(sum((a.usage ->> 'cost')::numeric), 0) FROM gp_activity a JOIN gp_thread th "
            "ON th.id = a.thread_id WHERE a.workspace_id = {w} AND a.finished_at >= {since} "
            "GROUP BY 1",
        )
        result = [
            (row[name[:-1]], row["calls"], row["tokens"], Decimal(row["cost"]))
            for row in figures[name]["rows"]
        ]
        assert sorted(result) == sorted(spent)
    verdicts = by_sql(
        cast,
        "SELECT verdict, count(*)::int FROM gp_decision WHERE workspace_id = {w} "
        "AND at >= {since} GROUP BY 1",
    )
    for verdict, n in verdicts:
        assert sums(figures["decisions"], verdict) == (n,)
    ((n, median),) = by_sql(
        cast,
        "SELECT count(*)::int, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY "
        "extract(epoch FROM d.at - a.requested_at)::float8)::numeric, 3)::float8 FROM gp_decision "
        "d JOIN gp_approval a ON a.id = d.approval_id WHERE d.workspace_id = {w} "
        "AND d.at >= {since}",
    )
    assert sums(figures["waiting"], "decisions") == (n,)
    (reviewer,) = figures["reviewers"]["rows"]
    assert (reviewer["decisions"], reviewer["median_seconds"]) == (n, median)
    # One agent, by the page's table as CSV.
    text = cast.client("viewer").get("/overview/spending.csv?period=30d&agent=agent-1")
    lines = list(csv.DictReader(io.StringIO(text.content.decode())))
    ((calls, cost),) = by_sql(
        cast,
        "SELECT count(*), sum((a.usage ->> 'cost')::numeric) FROM gp_activity a JOIN gp_thread th "
        "ON th.id = a.thread_id WHERE th.agent = 'agent-1' AND a.finished_at >= {since}",
    )
    assert sum(int(line["calls"]) for line in lines) == calls
    assert sum(Decimal(line["cost"]) for line in lines) == cost


def test_the_page_shows_the_numbers_of_the_call(cast: Cast) -> None:
    fill(cast, threads=120)
    figures = overview(cast, period="30d")
    page = cast.client("viewer").get("/overview/?period=30d").content.decode()
    (started,) = sums(figures["throughput"], "started")
    (tokens,) = sums(figures["spending"], "tokens")
    assert f'<b class="num">{started:,}</b>' in page
    assert f"{tokens:,} tokens" in page


def listed(cast: Cast, address: str) -> int:
    """The threads that a link of the page leads to, as the board counts them."""
    answer = cast.client("viewer").get(address)
    assert answer.status_code == 200, address
    return sum(int(n) for n in re.findall(r'data-count="\w+">(\d+)', answer.content.decode()))


def links_of(section: str) -> list[tuple[str, str]]:
    """[(the head of a row, where it leads)] of a figure's table."""
    heads = re.findall(r'<th scope="row"><a class="link" href="([^"]+)">(.*?)</a></th>', section)
    assert len(heads) == section.count('<th scope="row">')
    return [(html.unescape(words), html.unescape(address)) for address, words in heads]


@pytest.mark.slow
def test_each_row_of_each_figure_leads_to_the_threads_behind_it(cast: Cast) -> None:
    """Threads that began before the end of its time and did something after its beginning."""
    fill(cast, threads=300)
    page = cast.client("viewer").get("/overview/?period=30d").content.decode()
    sections = re.findall(r'<section class="card figure.*?</section>', page, re.DOTALL)
    assert '<th scope="row"><a' not in sections.pop()  # storage is of all threads
    links = {re.findall(r'id="(\w+)"', one)[0]: links_of(one) for one in sections}
    assert list(links) == [n for n in FIGURES if n not in ("saved", "storage")]  # without data
    assert all(links.values())
    figures = overview(cast, period="30d")
    active = "greatest(last_at, status_since) >= {since}"
    for name, where in (
        ("agents", "agent = '{}'"),
        ("teams", "labels ->> 'team' = '{}'"),
        ("outcomes", "agent = '{}' AND status IN ('succeeded', 'failed', 'cancelled')"),
    ):
        for words, address in links[name]:
            if words in ("all", "no team"):
                continue
            ((n,),) = by_sql(
                cast,
                "SELECT count(*) FROM gp_thread WHERE workspace_id = {w} AND "
                + active + " AND " + where.format(words),
            )  # fmt: skip
            assert listed(cast, address) == n > 0, (name, words)
    for row, (words, address) in zip(figures["failures"]["rows"], links["failures"], strict=True):
        assert (words, listed(cast, address)) == (row["agent"], row["failed"])
    # By time: at least those that began in it, were spent on, or ended in it.
    for row, (_, address) in zip(figures["throughput"]["rows"], links["throughput"], strict=True):
        assert listed(cast, address) >= max(row["started"], row["succeeded"], row["failed"])
    for name in ("models", "reviewers"):
        ((n,),) = by_sql(
            cast, f"SELECT count(*) FROM gp_thread WHERE workspace_id = {{w}} AND {active}"
        )
        assert {listed(cast, address) for _, address in links[name]} == {n}


@pytest.mark.parametrize("name", ['a "b"', "a\\b", "a b, c", "größe", "status:failed", "-x"])
def test_a_name_is_one_term_whatever_it_holds(name: str) -> None:
    (one,) = parse(term("agent", name)).terms
    assert (one.name, one.values) == ("agent", (name,))


@pytest.mark.slow
def test_budgets_are_what_is_spent_this_month(cast: Cast) -> None:
    fill(cast, threads=200)
    for scope, name in (("workspace", ""), ("agent", "agent-2"), ("team", "team-1")):
        set_budget(
            cast.workspace, scope=scope, name=name, max_cost="7.5", actor=cast.actor("admin").id
        )
    month = (
        "SELECT coalesce(sum((a.usage ->> 'tokens')::bigint), 0)::bigint, "
        "coalesce(sum((a.usage ->> 'cost')::numeric), 0) FROM gp_activity a JOIN gp_thread th "
        "ON th.id = a.thread_id WHERE a.workspace_id = {w} "
        "AND a.finished_at >= date_trunc('month', now(), 'UTC') AND "
    )
    wheres = ("true", "th.agent = 'agent-2'", "th.labels ->> 'team' = 'team-1'")
    for _ in range(2):
        results = cast.client("viewer").get("/api/v1/budgets/").json()["results"]
        for row, where in zip(results, wheres, strict=True):
            ((tokens, cost),) = by_sql(cast, month + where)
            assert (row["tokens"], Decimal(row["cost"])) == (tokens, cost)
            assert row["percent"] == pytest.approx(float(cost / Decimal("7.5")) * 100, abs=0.06)
            page = cast.client("viewer").get("/overview/budgets/").content.decode()
            assert f"{int(cost / Decimal('7.5') * 100)} % spent" in page
        while store.fold_due():
            pass
