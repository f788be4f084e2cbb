"""Cost per successful outcome beside the cost of mistakes, on threads that lived."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from checkpoints import leases, store
from checkpoints.queries.overview import figures as ground
from checkpoints.states import EventKind
from dashboard.board.overview.figures import all_figures, figure
from dashboard.board.overview.period import period_of
from dashboard.board.overview.reads import Overview
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    bring_to,
    drive,
    expire,
    head_of,
    make_agent,
    make_thread,
    new_activity,
    one,
)
from tests.unit.checkpoints.builders import rows as rows_of

pytestmark = pytest.mark.django_db


def ask_model(driver: Driver, cost: str | None, tokens: int = 10, *, model: str = "m-1") -> None:
    usage: dict[str, Any] = {"model": model, "tokens": tokens}
    usage |= {"unpriced": True} if cost is None else {"cost": cost}
    made = new_activity(driver.work, f"model#{tokens}", kind="model")
    store.record_activity(driver.work, made, result="yes", usage=usage)


def lived(cast: Cast, agent: UUID, end: EventKind | None, cost: str, **more: Any) -> UUID:
    """A thread that asked a model once and ended so; None: it goes on."""
    thread = make_thread(workspace=cast.workspace, agent=agent, **more)
    driver = drive(thread)
    ask_model(driver, cost)
    driver.step()
    if end is not None:
        store.leave(driver.work, end, reason="so")
    return thread


def rolled_back(cast: Cast, agent: UUID) -> UUID:
    """One that did a step, then two that were rolled back, then the right one, and succeeded."""
    thread = make_thread(workspace=cast.workspace, agent=agent)
    driver = drive(thread)
    ask_model(driver, "1")
    target = driver.step()
    for cost in ("10", "20"):
        ask_model(driver, cost)
        driver.step()
    store.roll_back(
        thread, checkpoint=target, undo=(), reason="r", actor=OPERATOR, head=driver.work.head
    )
    Driver(acquired(thread)).finish_rollback(run_on=True)
    driver = Driver(acquired(thread))
    ask_model(driver, "2")
    driver.step()
    store.leave(driver.work, EventKind.THREAD_SUCCEEDED)
    return thread


def look(cast: Cast, **more: Any) -> Overview:
    return Overview(cast.workspace, period_of(**more))


def table(cast: Cast, name: str, period: str = "7d") -> list[dict[str, Any]]:
    return figure(look(cast, name=period), name).records()


@pytest.mark.requirement("A37")
def test_cost_per_success_stands_beside_the_cost_of_mistakes(cast: Cast) -> None:
    pay, read = make_agent("payments"), make_agent("research")
    lived(cast, pay, EventKind.THREAD_SUCCEEDED, "3")
    rolled_back(cast, pay)  # 1 + 2 of use, 10 + 20 for nothing
    lived(cast, pay, EventKind.THREAD_FAILED, "5")
    cancelled = lived(cast, read, None, "7")
    store.cancel(cancelled, actor=OPERATOR)
    lived(cast, read, None, "100")  # goes on: no outcome yet
    results = {row["agent"]: row for row in table(cast, "outcomes")}
    payments = results["payments"]
    assert payments["succeeded"] == 2
    assert payments["cost_of_success"] == "6"
    assert payments["cost_per_success"] == "3"
    assert (payments["cost_failed"], payments["cost_rolled_back"]) == ("5", "30")
    assert payments["cost_of_mistakes"] == "35"
    assert payments["cost_per_success_with_mistakes"] == "20.5"
    research = results["research"]
    assert (research["succeeded"], research["cost_per_success"]) == (0, None)
    assert (research["cost_cancelled"], research["cost_of_mistakes"]) == ("7", "7")
    assert results["all"]["cost_of_mistakes"] == "42"
    assert results["all"]["cost_per_success_with_mistakes"] == "24"
    # What is reported as spent is all of it, whatever came of it.
    spent = sum(Decimal(row["cost"]) for row in table(cast, "agents"))
    assert spent == one("SELECT sum(cost) FROM gp_thread") == 148
    # The page says how it counts, with the same numbers.
    html = cast.client("viewer").get("/overview/").content.decode()
    for words in (
        "Cost of mistakes",
        "work that was rolled back",
        "$24.00 with mistakes",
        "$42.00",
    ):
        assert words in html


def test_a_failed_thread_that_is_retried_is_no_mistake_any_more(cast: Cast) -> None:
    thread = lived(cast, make_agent("payments"), EventKind.THREAD_FAILED, "5")
    assert table(cast, "failures") == [
        {"agent": "payments", "node": "work", "failed": 1, "children": 0, "cost": "5"}
    ]
    store.retry(thread, actor=OPERATOR)
    assert table(cast, "failures") == []
    driver = Driver(acquired(thread))
    driver.step()
    store.leave(driver.work, EventKind.THREAD_SUCCEEDED)
    (row,) = table(cast, "outcomes")
    assert (row["succeeded"], row["cost_per_success"], row["cost_of_mistakes"]) == (1, "5", "0")
    (day,) = [row for row in table(cast, "saved") if row["resumes"]]
    assert (day["resumes"], day["tokens"], day["cost"]) == (1, 10, "5")


def test_a_lost_worker_saves_what_is_recorded_and_unpriced_calls_count_their_tokens(
    cast: Cast, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001  # PostgreSQL has been up for so long
    thread = make_thread(workspace=cast.workspace, labels={"team": "growth"})
    driver = drive(thread)
    ask_model(driver, "0.5", 40, model="m-2")
    ask_model(driver, None, 7, model="local")
    driver.step()
    expire(thread)
    assert leases.take_over(thread, owner="worker:2") is not None
    saved = [row for row in table(cast, "saved", "24h") if row["resumes"]]
    assert [(row["resumes"], row["tokens"], row["cost"]) for row in saved] == [(1, 47, "0.5")]
    assert table(cast, "models") == [
        {"model": "m-2", "calls": 1, "tokens": 40, "cost": "0.5"},
        {"model": "local", "calls": 1, "tokens": 7, "cost": "0"},
    ]
    assert table(cast, "teams") == [{"team": "growth", "calls": 2, "tokens": 47, "cost": "0.5"}]


@pytest.mark.slow
@pytest.mark.parametrize("is_noted", [True, False])
def test_days_that_are_added_up_tell_the_same_and_are_renewed(cast: Cast, is_noted: bool) -> None:
    agent = make_agent("payments")
    for _ in range(3):
        lived(cast, agent, EventKind.THREAD_SUCCEEDED, "2")
    failed = lived(cast, agent, EventKind.THREAD_FAILED, "9")
    rolled_back(cast, agent)
    # Two days ago, all of it.
    rows_of("SET session_replication_role = replica")
    for statement in (
        "UPDATE gp_thread SET created_at = created_at - interval '2 days', "
        "status_since = status_since - interval '2 days'",
        "UPDATE gp_activity SET finished_at = finished_at - interval '2 days'",
    ):
        rows_of(statement)
    rows_of("SET session_replication_role = DEFAULT")
    names = ("throughput", "outcomes", "failures", "spending", "agents", "models", "teams")
    counted = {name: table(cast, name) for name in names}
    while store.fold_due():
        pass
    assert {name: table(cast, name) for name in names} == counted
    statement = "SELECT count(*) FROM gp_folded_unit WHERE workspace_id = %s AND unit = 'day'"
    assert one(statement, (cast.workspace,)) == 2  # none before the first thread
    assert store.fold_due() == 0  # nothing is due twice
    # A retry changes a day that is past; the next round renews it, at the latest half an hour on.
    store.retry(failed, actor=OPERATOR)
    assert table(cast, "failures") == counted["failures"]
    if not is_noted:
        rows_of("DELETE FROM gp_figure_change")
        rows_of("UPDATE gp_folded_unit SET folded_at = folded_at - interval '1 hour'")
    while store.fold_due():
        pass
    assert table(cast, "failures") == []
    # The cache may be lost.
    rows_of("DELETE FROM gp_folded_unit")
    rows_of("DELETE FROM gp_figure")
    assert next(row for row in table(cast, "spending") if row["calls"])["cost"] == "48"
    assert ground.midnight(look(cast).period.first) == look(cast).period.low


def everything(cast: Cast, *periods: str) -> list[object]:
    """All figures of each period but what the tables take, and what was spent this month."""
    looks = [look(cast, name=name) for name in periods or ("24h", "7d", "30d")]
    now = datetime.now(UTC)
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    spent = ground.spent_between(cast.workspace, month, now)
    return [
        *(one.records() for look in looks for one in all_figures(look) if one.name != "storage"),
        sorted((one.agent, one.team, one.tokens, one.cost) for one in spent),
    ]


def apart_by_hours(hours: int) -> None:
    """Let threads and calls be so far apart, in the order of their making, the first the newest."""
    rows_of("SET session_replication_role = replica")
    for name, columns in (
        ("gp_thread", ("created_at", "status_since")),
        ("gp_activity", ("finished_at",)),
    ):
        earlier = ", ".join(f"{one} = {one} - n.hours * interval '1 hour'" for one in columns)
        rows_of(
            f"UPDATE {name} x SET {earlier} FROM (SELECT id, {hours} * row_number() OVER "
            f"(ORDER BY id) AS hours FROM {name}) n WHERE n.id = x.id"
        )
    rows_of("SET session_replication_role = DEFAULT")


def test_hours_that_are_added_up_tell_the_same_at_each_moment(cast: Cast) -> None:
    """Also after a retry of what failed hours ago, before the next round of the sweep."""
    agent = make_agent("payments")
    failed = lived(cast, agent, EventKind.THREAD_FAILED, "9")
    rolled_back(cast, agent)
    lived(cast, agent, EventKind.THREAD_SUCCEEDED, "2")
    apart_by_hours(7)
    counted = everything(cast)
    while store.fold_due():
        pass
    of_hours = "FROM gp_figure WHERE workspace_id = %s AND unit = 'hour'"
    assert one(f"SELECT count(*) {of_hours}", (cast.workspace,)) > 3
    assert everything(cast) == counted
    # Read where they are added up, and not counted once more.
    rows_of("UPDATE gp_figure SET n = n + 100 WHERE unit = 'hour' AND figure = 'failed'")
    assert sum(row["failed"] for row in table(cast, "throughput", "24h")) == 101
    store.retry(failed, actor=OPERATOR)
    # Before the sweep hours are exact; a past day, which it may have failed in, has the former end.
    by_hours = everything(cast, "24h")
    assert sum(row["failed"] for row in table(cast, "throughput", "24h")) == 0
    assert store.fold_due() >= 1
    assert one("SELECT count(*) FROM gp_figure_change WHERE unit = 'hour'") == 0
    assert everything(cast, "24h") == by_hours
    retried = everything(cast)
    # The cache may be lost.
    for unit in ("hour", "day"):
        rows_of(f"DELETE FROM gp_folded_unit WHERE unit = '{unit}'")
        assert everything(cast) == retried


def test_another_workspace_counts_for_nothing(cast: Cast) -> None:
    thread = make_thread(workspace=cast.elsewhere)
    bring_to(thread, one("SELECT 'succeeded'"))
    assert head_of(thread)
    assert sum(row["started"] for row in table(cast, "throughput")) == 0
