"""Verifying covers what steers: each recorded row is altered, taken away and added, and found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from approvals.policies import changes as policies
from checkpoints.log import recorded
from dashboard.records.integrity import column_cover
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

from ..altered_columns import OTHER, SOME, columns_of, unguarded  # noqa: F401
from .settled import ADMIN, broken
from .settled import settled as settled

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E11")]


def changes(table: str, column: str, kind: str, *, empty: bool) -> str:
    if column == "role":
        return "CASE role WHEN 'admin' THEN 'viewer' ELSE 'admin' END"
    if (table, column) == ("gp_workspace_event", "kind"):
        return "CASE kind WHEN 'role.granted' THEN 'role.withdrawn' ELSE 'role.granted' END"
    if column == "action":
        return "CASE action WHEN 'ask' THEN 'allow' ELSE 'ask' END"
    if column in ("transport", "mode", "surface"):
        words = {"transport": ("http", "command"), "mode": ("ask", "refuse")}
        words = words.get(column, ("board", "records"))
        return "CASE {} WHEN '{}' THEN '{}' ELSE '{}' END".format(column, *words, words[0])
    if table == "gp_mcp_server" and column in ("resources", "prompts", "completions"):
        return f"CASE {column} WHEN 'ask' THEN 'refuse' ELSE 'ask' END"
    if table == "gp_budget" and column in ("scope", "at_full"):
        words = {"scope": ("agent", "team"), "at_full": ("notify", "stop")}[column]
        return "CASE {} WHEN '{}' THEN '{}' ELSE '{}' END".format(column, *words, words[0])
    if table == "gp_memory" and column in ("kind", "source"):
        words = {"kind": ("fact", "document"), "source": ("agent", "person")}[column]
        return "CASE {} WHEN '{}' THEN '{}' ELSE '{}' END".format(column, *words, words[0])
    if (table, column) == ("gp_access_change", "state"):
        return "'expired'"
    if column in ("scope", "per", "kind", "state"):
        words = {"scope": "thread", "per": "total", "kind": "webhook", "state": "refused"}
        return f"'{words[column]}'"
    if empty:
        return SOME.get(kind, "1" if kind in ("integer", "double precision") else "'x'")
    return OTHER.get(kind, "{c} + 1").format(c=column)


def altered(table: str, column: str, kind: str) -> Iterator[str]:
    # A log is long and all of one kind: some of its entries, others for each column.
    places = rows(f"SELECT ctid::text, {column} IS NULL FROM {table} ORDER BY ctid")
    every = max(1, len(places) // 6)
    for position, empty in places[len(column) % every :: every]:
        with transaction.atomic():
            try:
                done = rows(
                    f"UPDATE {table} SET {column} = {changes(table, column, kind, empty=empty)} "
                    "WHERE ctid = %s::tid RETURNING 1",
                    [position],
                )
            except IntegrityError:
                done = []
                transaction.set_rollback(True)
            if done:
                yield f"{table}.{column}"
            transaction.set_rollback(True)


def proved_columns() -> list[tuple[str, str]]:
    """The columns that are called proved of the tables that this module sweeps, as in the list."""
    here = [*recorded.tables(), "gp_membership", "gp_workspace_event"]
    return [
        (c.table, c.name) for c in column_cover.columns() if c.table in here and c.cover == "proved"
    ]


# Tables whose proved columns are altered here, or in `test_second_person`.
SWEPT = {
    *recorded.tables(),
    "gp_membership",
    "gp_workspace_event",
    "gp_agent_version",
    "gp_carried_out",
}


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
def test_whatever_column_on_record_is_altered_is_found_and_named(settled: Cast) -> None:
    missed, tried = [], set()
    for table, column in proved_columns():
        on_record = recorded.tables().get(table)
        kind = dict(columns_of(table))[column]
        for what in altered(table, column, kind):
            message = broken()
            tried.add((table, column))
            named = on_record is None or column not in on_record.columns
            if not message or not (named or (on_record.noun in message and column in message)):
                missed.append((what, message))
    assert missed == []
    assert tried == set(proved_columns())


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", sorted(recorded.tables()))
def test_a_row_on_record_that_is_taken_away_or_added_is_found(settled: Cast, table: str) -> None:
    noun = recorded.tables()[table].noun
    places = rows(f"SELECT ctid::text FROM {table}")
    assert places
    for (position,) in places:
        with transaction.atomic():
            rows(f"DELETE FROM {table} WHERE ctid = %s::tid RETURNING 1", [position])
            message = broken()
            assert f"the {noun} " in message or table == "gp_workspace", message
            assert message or table == "gp_workspace"  # another test finds what it leaves behind
            transaction.set_rollback(True)
    if table in ("gp_workspace", "auth_user"):
        return
    made_by_itself = ("gp_memory", "words")  # nobody can write it
    names = [name for name, _ in columns_of(table) if (table, name) != made_by_itself]
    values = [COPIES.get((table, n), COPIES.get(n, n)) for n in names]
    for (position,) in places:
        with transaction.atomic():
            rows(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table} "
                "WHERE ctid = %s::tid RETURNING 1",
                [position],
            )
            assert "no event records it" in broken()
            transaction.set_rollback(True)


# So that a copied row stands beside its original.
COPIES: dict[Any, str] = {
    "id": "gen_random_uuid()",
    "name": "name || 'x'",
    ("gp_policy_version", "number"): "number + 100",
    ("gp_budget_band", "number"): "number + 100",
    ("gp_spend_cap", "agent"): "agent || 'x'",
    ("gp_retention_rule", "agent"): "agent || 'x'",
    ("gp_hook_identity", "identity"): "identity || 'x'",
    ("gp_quiet_hours", "person"): "person || 'x'",
    ("gp_deputy", "person"): "person || 'x'",
    ("gp_identity", "provider"): "provider || 'x'",
    # Somebody who has none: a person has one.
    ("gp_second_factor", "user_id"): "(SELECT max(id) FROM auth_user)",
    ("gp_passkey", "credential_id"): "credential_id || 'x'",
    ("gp_incident", "fingerprint"): "'x'",
    ("gp_token", "prefix"): "'zzzzzzzz'",
    ("gp_token", "secret_hash"): "sha256(secret_hash)",
}


@pytest.mark.usefixtures("unguarded")
def test_the_next_honest_change_does_not_hide_an_alteration(settled: Cast) -> None:
    workspace = settled.workspace
    there = {name: ident for ident, name in rows("SELECT id, name FROM gp_policy")}
    rows("UPDATE gp_policy SET active = false WHERE name = 'pays' RETURNING 1")
    policies.move(there["look"], 2, workspace=workspace, actor=ADMIN)
    assert "before it the policy 'pays' was altered past the log: active" in broken()


@pytest.mark.usefixtures("unguarded")
def test_a_planted_row_is_not_taken_over_by_an_honest_change(settled: Cast) -> None:
    rows(
        "INSERT INTO gp_policy (id, workspace_id, name, position, active, number) SELECT "
        "gen_random_uuid(), workspace_id, 'planted', 0, false, 1 FROM gp_policy LIMIT 1 "
        "RETURNING 1"
    )
    ((ident,),) = rows("SELECT id FROM gp_policy WHERE name = 'planted'")
    rows(
        "INSERT INTO gp_policy_version (id, workspace_id, policy_id, number, condition, action, "
        "terms, risk, title, note, made_by, made_at) SELECT gen_random_uuid(), workspace_id, "
        "%s::uuid, 1, condition, 'allow', terms, risk, title, note, made_by, made_at FROM "
        "gp_policy_version LIMIT 1 RETURNING 1",
        [ident],
    )
    policies.switch(ident, True, workspace=settled.workspace, actor=ADMIN)
    assert "the policy 'planted' was there before it" in broken()
