"""The log of the workspace proves what people set on an incident, and the sweep needs no event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from approvals.incidents import responses
from approvals.incidents.responses import UNTOUCHED
from approvals.incidents.sweep import prune, sweep_incidents
from approvals.verification.reports import keep_report
from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.log import recorded
from checkpoints.state import deltas
from checkpoints.store.installation.record_begin import on_record
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.records.integrity.altered_columns import OTHER, SOME, columns_of

from .scenes import fails, handled_incidents, incidents, later, person

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.requirement("E11"),
    pytest.mark.requirement("E01"),
]


def broken(cast: Cast) -> str:
    """What verification says of the workspace's log; "" where it is intact."""
    report = verify_workspace(cast.workspace)
    return "" if report.intact else report.what


def scope(cast: Cast, name: str = "operator") -> dict[str, Any]:
    who = person(cast, name)
    return {"workspace": cast.workspace, "person": who, "actor": who}


def opened(cast: Cast, reason: str = "publish: HTTP 503") -> UUID:
    """An open incident of one thread, about which nobody did anything."""
    fails(cast, reason)
    sweep_incidents()
    return incidents(cast)[0].id


def dropped(cast: Cast) -> list[Any]:
    """The data of each event of incidents that were dropped."""
    events = rows(
        "SELECT data::text FROM gp_workspace_event WHERE workspace_id = %s AND kind = "
        "'incident.dropped' ORDER BY seq",
        [cast.workspace],
    )
    return [deltas.decode(data) for (data,) in events]


def test_all_that_a_verb_writes_is_on_record(cast: Cast) -> None:
    assert set(recorded.tables()["gp_incident"].columns) == set(UNTOUCHED)
    handled_incidents(cast)
    assert broken(cast) == ""
    written = set()
    for row in rows("SELECT to_jsonb(i)::text FROM gp_incident i"):
        columns = deltas.decode(row[0])
        written |= {name for name in UNTOUCHED if columns[name] not in ("", None)}
    assert written == set(UNTOUCHED)


@pytest.mark.parametrize("column", sorted(UNTOUCHED))
@pytest.mark.parametrize("touched", [False, True])
def test_a_value_that_nobody_set_is_found_and_named(cast: Cast, column: str, touched: bool) -> None:
    if touched:
        handled_incidents(cast)
    else:
        opened(cast)
    kind = dict(columns_of("gp_incident"))[column]
    for ident, empty in rows(f"SELECT id, {column} IS NULL FROM gp_incident"):
        with transaction.atomic():
            change = SOME.get(kind, "'x'") if empty else OTHER[kind].format(c=column)
            rows(f"UPDATE gp_incident SET {column} = {change} WHERE id = %s RETURNING 1", [ident])
            message = broken(cast)
            assert f"the incident '{ident}' was altered past the log: " in message
            assert column in message
            transaction.set_rollback(True)
    assert broken(cast) == ""


def test_what_the_sweep_does_needs_no_event(cast: Cast) -> None:
    ident = opened(cast)
    fails(cast, "publish: HTTP 504")
    sweep_incidents()
    assert broken(cast) == ""
    responses.take(ident, **scope(cast))
    fails(cast, "publish: HTTP 505")
    sweep_incidents()
    assert broken(cast) == ""
    for thread in _failed(cast):
        store.retry(thread, actor="user:1")
    sweep_incidents()
    [row] = incidents(cast)
    assert (row.state, row.closed_by, row.taken_by) == ("closed", "", person(cast))
    assert broken(cast) == ""


def _failed(cast: Cast) -> list[UUID]:
    return [
        ident
        for (ident,) in rows(
            "SELECT id FROM gp_thread WHERE workspace_id = %s AND status = 'failed' ORDER BY id",
            [cast.workspace],
        )
    ]


def test_an_incident_that_is_hidden_or_opened_again_past_the_log_is_found(cast: Cast) -> None:
    made = handled_incidents(cast)
    by_itself = opened(cast, "price: HTTP 500")
    store.retry(_failed(cast)[-1], actor="user:1")
    sweep_incidents()
    assert incidents(cast, state="closed")[0].id == by_itself
    untouched = opened(cast, "ship: HTTP 500")
    closes = "closed_at = clock_timestamp()"
    for ident, change in (
        (made["closed"], "closed_at = NULL"),
        (made["closed"], "closed_at = NULL, closed_by = '', close_reason = ''"),
        (made["taken"], closes),
        (made["taken"], f"{closes}, closed_by = 'user:1', close_reason = 'x'"),
        (made["taken"], "taken_by = '', taken_at = NULL"),
        (by_itself, "closed_at = NULL"),
        (by_itself, "closed_by = 'user:1'"),
        (untouched, closes),
        (untouched, "snoozed_until = clock_timestamp() + interval '1 d'"),
    ):
        with transaction.atomic():
            rows(f"UPDATE gp_incident SET {change} WHERE id = %s RETURNING 1", [ident])
            assert f"the incident '{ident}' was altered past the log" in broken(cast), change
            transaction.set_rollback(True)
    assert broken(cast) == ""


def test_an_incident_that_is_taken_away_after_somebody_took_it_is_found(cast: Cast) -> None:
    ident = opened(cast)
    with transaction.atomic():
        rows("DELETE FROM gp_incident WHERE id = %s RETURNING 1", [ident])
        assert broken(cast) == "", "the sweep makes it anew"
        transaction.set_rollback(True)
    responses.take(ident, **scope(cast))
    rows("DELETE FROM gp_incident WHERE id = %s RETURNING 1", [ident])
    assert f"the incident '{ident}' is gone, and no event records it" in broken(cast)


def test_the_next_act_does_not_hide_what_was_altered_before_it(cast: Cast) -> None:
    ident = opened(cast)
    responses.take(ident, **scope(cast))
    rows("UPDATE gp_incident SET taken_by = '', taken_at = NULL RETURNING 1")
    # The very columns that the act changes itself.
    responses.take(ident, **scope(cast, "manager"))
    message = f"before it the incident '{ident}' was altered past the log: taken_at, taken_by"
    assert message in broken(cast)


def test_the_first_act_does_not_hide_what_was_altered_before_it(cast: Cast) -> None:
    ident = opened(cast)
    rows("UPDATE gp_incident SET snoozed_by = 'user:1' RETURNING 1")
    responses.take(ident, **scope(cast))
    assert f"before it the incident '{ident}' was altered past the log: snoozed" in broken(cast)


def test_dropped_incidents_go_with_an_event_where_people_did_something(cast: Cast) -> None:
    opened(cast, "price: HTTP 500")
    store.retry(_failed(cast)[0], actor="user:1")
    taken = opened(cast)
    responses.take(taken, **scope(cast))
    store.retry(_failed(cast)[0], actor="user:1")
    sweep_incidents()
    assert {row.state for row in incidents(cast)} == {"closed"}
    # Long ago, as the log has it too: nobody moves what is on record.
    rows("UPDATE gp_incident SET closed_at = closed_at - interval '3 years' RETURNING 1")
    assert prune() == 2
    assert incidents(cast) == []
    assert broken(cast) == ""
    [event] = dropped(cast)
    assert event["incidents"] == [str(taken)]
    rows("DELETE FROM gp_incident_thread RETURNING 1")
    opened(cast, "ship: HTTP 500")
    assert prune() == 0
    assert len(dropped(cast)) == 1


def test_an_incident_that_was_given_back_is_the_sweeps_again(cast: Cast) -> None:
    ident = opened(cast)
    responses.take(ident, **scope(cast))
    responses.give_back(ident, **scope(cast))
    with transaction.atomic():
        rows("UPDATE gp_incident SET taken_by = 'user:1' RETURNING 1")
        assert f"the incident '{ident}' was altered past the log: taken_by" in broken(cast)
        transaction.set_rollback(True)
    store.retry(_failed(cast)[0], actor="user:1")
    sweep_incidents()
    later(days=1_000)
    assert prune() == 1
    assert dropped(cast) == []
    assert broken(cast) == ""


def test_an_older_record_begins_with_what_people_set(cast: Cast) -> None:
    made = handled_incidents(cast)
    untouched = opened(cast, "price: HTTP 500")
    with connection.cursor() as cursor:
        # An installation of before: nothing of it is on record.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM gp_workspace_event WHERE workspace_id = %s", [cast.workspace])
        cursor.execute(
            "UPDATE gp_workspace SET last_seq = 0, last_hash = %s, prev_hash = %s WHERE id = %s",
            [bytes(32), b"", cast.workspace],
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    store.begin_record(actor="user:0")
    assert "gp_incident" in on_record(cast.workspace)
    [(data,)] = rows(
        "SELECT data -> 'rows' -> 'gp_incident' FROM gp_workspace_event WHERE workspace_id = %s "
        "AND kind = 'record.begun' AND jsonb_exists(data -> 'tables', 'gp_incident')",
        [cast.workspace],
    )
    touched = {str(made[word]) for word in ("taken", "snoozed", "closed")}
    assert set(data if isinstance(data, dict) else deltas.decode(data)) == touched
    responses.snooze(untouched, datetime.now(UTC) + timedelta(hours=1), **scope(cast))
    assert broken(cast) == ""
    rows("UPDATE gp_incident SET taken_by = 'user:99' WHERE id = %s RETURNING 1", [made["taken"]])
    assert f"the incident '{made['taken']}' was altered past the log: taken_by" in broken(cast)


def test_damage_is_shown_in_red_and_is_an_incident_itself(cast: Cast) -> None:
    ident = opened(cast)
    responses.take(ident, **scope(cast))
    rows("UPDATE gp_incident SET taken_by = 'user:99' RETURNING 1")
    report = verify_workspace(cast.workspace)
    keep_report(report, actor="user:1", of="workspace")
    sweep_incidents()
    html = cast.client("operator").get("/").content.decode()
    note = html[html.index('class="note t-fail" id="damage"') :]
    assert f"the incident &#x27;{ident}&#x27; was altered past the log: taken_by" in note
    assert "record.damaged" in {row.kind for row in incidents(cast)}
