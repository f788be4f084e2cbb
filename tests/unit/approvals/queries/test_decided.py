"""Decisions of people over time: the same once the sweep has added days up, exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals import gates
from approvals.gates import decided_days
from approvals.queries import decided
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.board.overview.fleets import fill

pytestmark = pytest.mark.django_db
THREADS = 300
# Person, script, token; verdicts that waits leave out.
VARIED = """
UPDATE gp_decision SET reviewer = reviewer || (ARRAY['', '', '/token:abcd', '/script:demo'])
  [1 + abs(mod(hashtext(id::text), 4))],
  verdict = (ARRAY['approve', 'edit', 'reject', 'respond', 'take_back'])
  [1 + abs(mod(hashtext(approval_id::text), 5))],
  at = at + make_interval(secs => abs(mod(hashtext(id::text), 99999)) / 7.0)
"""


def looks(cast: Cast) -> list[decided.Decided]:
    """Of days and hours, of all agents and of one."""
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    high = midnight + timedelta(days=1)
    spans: list[dict[str, Any]] = [
        *(
            {"low": high - timedelta(days=days), "high": high, "unit": "day"}
            for days in (1, 7, 30, 92)
        ),
        {"low": midnight - timedelta(days=9), "high": midnight - timedelta(days=3), "unit": "day"},
        {"low": high - timedelta(days=1), "high": high, "unit": "hour"},
    ]
    return [
        decided.decided(workspace=cast.workspace, agent=agent, **span)
        for span in spans
        for agent in ("", "agent-0", "agent-1")
    ]


@pytest.fixture
def varied(cast: Cast) -> Cast:
    fill(cast, threads=THREADS)
    rows("SET session_replication_role = replica")
    rows(VARIED)
    rows("SET session_replication_role = DEFAULT")
    return cast


def test_days_that_are_added_up_tell_the_same(
    varied: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decided_days, "DAYS_AT_ONCE", 9)
    counted = looks(varied)
    assert counted[6].total.n > 10
    turns = 0
    while gates.fold_decisions():
        assert looks(varied) == counted
        turns += 1
    assert turns >= 3
    whole = rows("SELECT sum(n) FROM gp_decided_day WHERE workspace_id = %s", (varied.workspace,))
    today = "SELECT date_trunc('day', now(), 'UTC')"
    assert whole == rows(
        f"SELECT count(*) FROM gp_decision WHERE workspace_id = %s AND at < ({today})",
        (varied.workspace,),
    )
    # The cache may be lost.
    rows("DELETE FROM gp_decided_until")
    rows("DELETE FROM gp_decided_day")
    assert looks(varied) == counted


def test_the_database_says_the_same_medians(varied: Cast) -> None:
    [(n, median, p90)] = rows(
        "SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY x.took), "
        "percentile_cont(0.9) WITHIN GROUP (ORDER BY x.took) "
        f"FROM ({decided.SQL.decided}) x WHERE x.counts",
        {
            "workspace": varied.workspace,
            "low": datetime.now(UTC) - timedelta(days=99),
            "high": datetime.now(UTC) + timedelta(days=1),
        },
    )
    total = looks(varied)[9].total
    assert (total.n, total.median, total.p90) == (n, pytest.approx(median), pytest.approx(p90))


def test_what_is_added_up_is_read_and_no_decision_of_those_days(varied: Cast) -> None:
    while gates.fold_decisions():
        pass
    rows("UPDATE gp_decided_day SET n = n + 1000")
    assert min(looks(varied)[6].verdicts.values()) >= 1  # today's are counted
    assert max(looks(varied)[6].verdicts.values()) > 1000


def test_no_day_is_added_up_twice(varied: Cast) -> None:
    while gates.fold_decisions():
        pass
    once = rows("SELECT count(*), sum(n) FROM gp_decided_day")
    # As a process does that looked for due workspaces before another added them up.
    assert decided_days.fold(varied.workspace, datetime.now(UTC).date())
    assert rows("SELECT count(*), sum(n) FROM gp_decided_day") == once
