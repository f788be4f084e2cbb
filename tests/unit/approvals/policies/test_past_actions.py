"""Past actions on which a policy is tested: of its workspace, by the database's time, by index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.policies import preview
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
BUSY = """
INSERT INTO gp_activity SELECT made.* FROM gp_activity a, generate_series(1, %s) n,
  LATERAL jsonb_populate_record(a, jsonb_build_object('key', 'busy:' || n,
    'id', 'ffffffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))) made
WHERE a.id = %s
"""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def run(sql: str, params: Any = ()) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def effects(cast: Cast, workspace: UUID, count: int = 1) -> list[UUID]:
    """Effects of one thread that nobody was asked about."""
    work = scene.lease(scene.start(workspace, scene.make_agent()))
    return [scene.effect(work, key=f"publish:{n}") for n in range(count)]


def test_a_busy_neighbour_hides_no_effect(cast: Cast) -> None:
    """20,001 newer activities of another workspace, whose ids come last in any order of ids."""
    effects(cast, cast.workspace)
    (copied,) = effects(cast, cast.elsewhere)
    run(BUSY, (20_001, copied))
    for workspace, there in ((cast.workspace, 1), (cast.elsewhere, preview.PAST)):
        result = preview.against_the_past(workspace, "tool == 'publish'")
        assert (len(result.matched), result.there) == (there, there)


@pytest.mark.parametrize("days", [-400, 0, 400])
def test_the_newest_are_those_of_the_database_whatever_a_worker_believes(
    cast: Cast, days: int
) -> None:
    """Ids of activities begin with the clock of the worker that made them."""
    made = effects(cast, cast.workspace, 9)
    for n, old in enumerate(made):
        number = int((NOON + timedelta(days=days * n)).timestamp() * 1_000) << 80 | n
        run(
            "UPDATE gp_activity SET id = %s, started_at = %s WHERE id = %s",
            (UUID(int=number), NOON + timedelta(minutes=n), old),
        )
    for limit in range(1, 9):
        result = preview.against_the_past(cast.workspace, "true", limit=limit)
        assert [one.at for one in result.matched] == [
            NOON + timedelta(minutes=8 - n) for n in range(limit)
        ]
        assert result.since == NOON + timedelta(minutes=9 - limit)
    assert preview.against_the_past(cast.workspace, "true", limit=9).since is None


def test_since_is_the_later_end_of_requests_and_effects(cast: Cast) -> None:
    agent = scene.make_agent()
    for n in range(3):
        row = scene.waiting(cast.workspace, agent)
        at = NOON + timedelta(minutes=n)
        run("UPDATE gp_approval SET requested_at = %s WHERE id = %s", (at, row.id))
    for n, made in enumerate(effects(cast, cast.workspace, 3)):
        at = NOON + timedelta(hours=n)
        run("UPDATE gp_activity SET started_at = %s WHERE id = %s", (at, made))
    result = preview.against_the_past(cast.workspace, "true", limit=2)
    assert (result.looked_at, result.there, result.since) == (4, 4, NOON + timedelta(hours=1))
    assert preview.against_the_past(cast.workspace, "true").since is None


def test_a_trial_that_stops_early_says_how_far_it_came(cast: Cast, monkeypatch: Any) -> None:
    effects(cast, cast.workspace, 3)
    monkeypatch.setattr(preview, "SECONDS_MAX", -1.0)
    result = preview.against_the_past(cast.workspace, "true")
    assert (result.looked_at, result.there) == (0, 3)
    assert result.since is not None


@pytest.mark.parametrize(
    ("sql", "index"),
    [(preview._EFFECTS, "gp_activity_effects"), (preview._REQUESTS, "gp_approval_all")],
)
def test_what_was_last_is_read_by_its_index(cast: Cast, sql: str, index: str) -> None:
    # An empty table is read whole; the question is whether the index fits, with its order.
    run("SET LOCAL enable_seqscan = off")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}", {"workspace": cast.workspace, "limit": 501})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    limited = plan[plan.index("Limit") :]
    assert f"using {index} " in limited, plan
    assert "Sort" not in limited, plan
