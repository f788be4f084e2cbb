"""Budgets: bands are reached once, told once, stop what they cover, and are part of the record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from approvals.notify.texts.budget_letters import budget_letter
from approvals.policies.budgets import announce_budgets
from checkpoints import leases, queries, store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import InvalidValue
from checkpoints.queries import BudgetRow, BudgetStanding
from checkpoints.state import deltas
from checkpoints.store.overview import budgets
from dashboard.board.overview.page import budget_line
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    make_agent,
    make_thread,
    make_workspace,
    new_activity,
    rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G06")]
SWEEPER = "worker:sweep"


def spend(workspace: UUID, cost: str, *, agent: str = "payments", team: str = "") -> UUID:
    """A thread that spent so much, with 1,000 tokens, and goes on."""
    labels = {"team": team} if team else {}
    thread = make_thread(workspace=workspace, agent=make_agent(agent), labels=labels)
    driver = drive(thread)
    made = new_activity(driver.work, "model#0", kind="model")
    usage = {"model": "m", "tokens": 1_000, "cost": cost}
    store.record_activity(driver.work, made, result="yes", usage=usage)
    driver.step()
    store.hand_back(driver.work, reason="looked")
    return thread


def set_budget(workspace: UUID, scope: str = "workspace", name: str = "", **more: Any) -> BudgetRow:
    values = {"max_cost": "10"} | more
    return budgets.set_budget(workspace, scope=scope, name=name, actor=OPERATOR, **values)


def usage_of(workspace: UUID) -> BudgetStanding:
    (result,) = queries.budget_standings(workspace)
    return result


def news(workspace: UUID) -> list[dict[str, Any]]:
    return [
        deltas.decode(text)
        for (text,) in rows(
            "SELECT data::text FROM gp_outbox WHERE workspace_id = %s AND kind = 'budget.reached' "
            "ORDER BY at, id",
            (workspace,),
        )
    ]


def kinds(workspace: UUID) -> list[str]:
    sql = "SELECT kind FROM gp_workspace_event WHERE workspace_id = %s ORDER BY seq"
    return [kind for (kind,) in rows(sql, (workspace,)) if kind.startswith(("budget", "breaker"))]


def test_each_band_is_told_once_a_month_and_recorded() -> None:
    workspace = make_workspace()
    set_budget(workspace)
    spend(workspace, "7.9")
    assert announce_budgets(owner=SWEEPER) == 0
    assert (usage_of(workspace).band, usage_of(workspace).share) == (0, 0.79)
    spend(workspace, "0.2")
    assert announce_budgets(owner=SWEEPER) == 1
    assert announce_budgets(owner=SWEEPER) == 0
    spend(workspace, "5")
    assert announce_budgets(owner=SWEEPER) == 1
    assert announce_budgets(owner=SWEEPER) == 0
    assert [(one["band"], one["cost"], one["breaker"]) for one in news(workspace)] == [
        (80, "8.1", None),
        (100, "13.1", None),
    ]
    assert kinds(workspace) == ["budget.changed", "budget.reached", "budget.reached"]
    (shown,) = queries.board_look(workspace=workspace).budgets
    assert (shown.band, shown.stopped) == (100, False)
    assert leases.acquire(spend(workspace, "1"), owner="worker:1") is not None  # nothing is stopped
    assert verify_workspace(workspace).intact


@pytest.mark.parametrize("limit", ["0.30", "0.90", "6.90", "10"])
def test_a_band_that_is_just_reached_is_reached(limit: str) -> None:
    workspace = make_workspace()
    set_budget(workspace, max_cost=limit)
    spend(workspace, f"{Decimal(limit) * Decimal('0.8') - Decimal('0.000001'):f}")
    assert announce_budgets(owner=SWEEPER) == 0
    spend(workspace, "0.000001")
    assert (usage_of(workspace).band, usage_of(workspace).percent) == (80, 80)
    assert announce_budgets(owner=SWEEPER) == 1


@pytest.mark.parametrize("cents", [29, 57, 58, 99])
def test_a_per_cent_that_is_spent_is_shown(cents: int) -> None:
    row = BudgetRow(UUID(int=1), UUID(int=2), "team", "ops", None, Decimal(1), "stop", True, 1)
    now = BudgetStanding(row, datetime(2026, 11, 1, tzinfo=UTC), 0.5, 0, Decimal(cents) / 100, ())
    assert budget_line(now).percent == cents


def test_both_bands_at_once_are_one_news() -> None:
    workspace = make_workspace()
    set_budget(workspace, max_cost=None, max_tokens=900)
    spend(workspace, "1")
    assert announce_budgets(owner=SWEEPER) == 1
    assert [one["band"] for one in news(workspace)] == [100]
    bands = rows("SELECT band FROM gp_budget_band WHERE workspace_id = %s", (workspace,))
    assert sorted(bands) == [(80,), (100,)]


@pytest.mark.parametrize(
    ("scope", "name", "stopped"),
    [
        ("workspace", "", {"payments growth", "payments ops", "research growth"}),
        ("agent", "payments", {"payments growth", "payments ops"}),
        ("team", "growth", {"payments growth", "research growth"}),
    ],
)
def test_a_spent_budget_stops_what_it_covers_and_nothing_else(
    scope: str, name: str, stopped: set[str]
) -> None:
    workspace, other = make_workspace(), make_workspace()
    set_budget(workspace, scope, name, at_full="stop")
    threads = {
        f"{agent} {team}": spend(workspace, "6", agent=agent, team=team)
        for agent, team in (("payments", "growth"), ("payments", "ops"), ("research", "growth"))
    }
    beside = spend(other, "50")
    assert announce_budgets(owner=SWEEPER) == 1
    result = {
        words
        for words, thread in threads.items()
        if queries.thread(thread, workspace=workspace).stopped is not None
    }
    assert result == stopped
    assert queries.thread(beside, workspace=other).stopped is None
    # New ones wait as well.
    late = make_thread(workspace=workspace, agent=make_agent("payments"), labels={"team": "growth"})
    assert leases.acquire(late, owner="worker:1") is None
    (breaker,) = queries.breakers(workspace)
    assert "is spent" in breaker.reason
    assert [(one["band"], one["breaker"]) for one in news(workspace)] == [(100, str(breaker.id))]
    assert verify_workspace(workspace).intact
    # Somebody releases it: the month's band is reached already, so it stays released.
    store.release_breaker(breaker.id, workspace=workspace, reason="go on", actor=OPERATOR)
    spend(workspace, "6", team="growth")
    assert announce_budgets(owner=SWEEPER) == 0
    assert leases.acquire(late, owner="worker:1") is not None


def test_a_changed_budget_is_measured_anew_and_one_that_is_off_is_silent() -> None:
    workspace = make_workspace()
    first = set_budget(workspace)
    spend(workspace, "9")
    assert announce_budgets(owner=SWEEPER) == 1
    assert set_budget(workspace) == first  # as it stands: nothing changes
    assert set_budget(workspace, max_cost="20").number == 2
    assert announce_budgets(owner=SWEEPER) == 0
    assert queries.board_look(workspace=workspace).budgets == []
    set_budget(workspace, max_cost="9")
    assert announce_budgets(owner=SWEEPER) == 1
    assert [one["band"] for one in news(workspace)] == [80, 100]
    set_budget(workspace, max_cost="1", active=False)
    assert announce_budgets(owner=SWEEPER) == 0
    assert verify_workspace(workspace).intact


def test_the_forecast_is_linear() -> None:
    row = BudgetRow(UUID(int=1), UUID(int=2), "team", "growth", 3_000, Decimal(10), "stop", True, 1)
    now = BudgetStanding(row, datetime(2026, 11, 1, tzinfo=UTC), 0.25, 600, Decimal(4), ())
    assert (now.share, now.band) == (0.4, 0)
    assert (now.forecast_tokens, now.forecast_cost) == (2_400, Decimal("16.00"))
    assert now.forecast_share == 1.6
    early = BudgetStanding(row, now.month, 0.0001, 600, Decimal(4), ())
    assert not early.has_forecast
    assert early.forecast_cost == 4
    assert (
        BudgetRow(row.id, row.workspace, "workspace", "", None, Decimal(0), "stop", True, 1).share(
            0, Decimal(0)
        )
        == 1.0
    )


def test_a_forecast_is_never_less_than_what_is_spent() -> None:
    row = BudgetRow(
        UUID(int=1), UUID(int=2), "agent", "support", None, Decimal("0.00033"), "news", True, 1
    )
    month = datetime(2026, 11, 1, tzinfo=UTC)
    for spent in (Decimal("0.00029"), Decimal("0.000001"), Decimal("12.345678")):
        now = BudgetStanding(row, month, 0.899, 0, spent, ())
        assert now.forecast_cost >= spent
        assert now.forecast_share >= now.share


def test_last_month_counts_for_nothing() -> None:
    workspace = make_workspace()
    set_budget(workspace)
    spend(workspace, "9")
    rows("SET session_replication_role = replica")
    rows(
        "UPDATE gp_activity SET finished_at = date_trunc('month', now(), 'UTC') - %s",
        (timedelta(seconds=1),),
    )
    rows("SET session_replication_role = DEFAULT")
    assert usage_of(workspace).cost == 0
    assert announce_budgets(owner=SWEEPER) == 0


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"scope": "thread"}, "scope"),
        ({"scope": "agent"}, "name"),
        ({"name": "payments"}, "name"),
        ({"scope": "team", "name": "x" * 201}, "name"),
        ({"scope": "agent", "name": "a\0"}, "name"),
        ({"max_cost": None}, "max_cost"),
        ({"max_cost": "-1"}, "max_cost"),
        ({"max_cost": "1e3"}, "max_cost"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"at_full": "cancel"}, "at_full"),
    ],
)
def test_what_is_no_budget_is_refused(values: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidValue) as error:
        set_budget(make_workspace(), **values)
    assert error.value.path == path


def test_an_altered_budget_and_a_planted_band_are_found() -> None:
    workspace = make_workspace()
    budget = set_budget(workspace, at_full="stop")
    for column, value in (("max_cost", "99"), ("at_full", "'notify'"), ("active", "false")):
        with transaction.atomic():
            rows(f"UPDATE gp_budget SET {column} = {value} WHERE id = %s", (budget.id,))
            assert f"altered past the log: {column}" in verify_workspace(workspace).what
            transaction.set_rollback(True)
    with transaction.atomic():
        # A planted band would keep the breaker from tripping.
        rows(
            "INSERT INTO gp_budget_band (id, budget_id, number, month, band, workspace_id, tokens, "
            "cost) VALUES (gen_random_uuid(), %s, 1, date_trunc('month', now(), 'UTC')::date, 100, "
            "%s, 0, 0)",
            (budget.id, workspace),
        )
        assert not verify_workspace(workspace).intact
        transaction.set_rollback(True)
    assert verify_workspace(workspace).intact


def test_a_letter_says_what_is_spent_and_where_to_look() -> None:
    workspace = make_workspace()
    set_budget(workspace, "team", "growth", max_cost="5", max_tokens=2_000)
    spend(workspace, "4.5", team="growth")
    announce_budgets(owner=SWEEPER)
    letter = budget_letter(news(workspace), base="https://gatepost.example")
    month = f"{datetime.now(UTC):%Y-%m}"
    assert letter.subject == (
        f"Budget of team growth for {month}: 80 % is spent ($4.5 of $5, 1,000 of 2,000 tokens)"
    )
    assert "https://gatepost.example/overview/budgets/?src=mail" in letter.text
