"""What a status, kind or source may be: the database's own lists, and that they cost no step."""

from __future__ import annotations

import re

import pytest
from django.db import IntegrityError, transaction

from checkpoints.states import ACTIVITY_KINDS, ACTIVITY_STATES, CHECKPOINT_SOURCES, Status

from .builders import drive, make_thread, one, rows

LISTS = {
    "gp_thread_status": tuple(map(str, Status)),
    "gp_thread_effects": ("run", "ask"),
    "gp_checkpoint_source": CHECKPOINT_SOURCES,
    "gp_activity_state": ACTIVITY_STATES,
    "gp_activity_kind": ACTIVITY_KINDS,
}
COLUMNS = {
    ("gp_thread", "status"): "gp_thread_status",
    ("gp_thread", "effects"): "gp_thread_effects",
    ("gp_checkpoint", "source"): "gp_checkpoint_source",
    ("gp_activity", "state"): "gp_activity_state",
    ("gp_activity", "kind"): "gp_activity_kind",
    ("gp_event", "kind"): "gp_event_kind",
    ("gp_event", "actor"): "gp_event_actor",
}


@pytest.mark.django_db
@pytest.mark.parametrize(("domain", "allowed"), LISTS.items(), ids=LISTS)
def test_a_domain_repeats_the_list_in_the_code(domain: str, allowed: tuple[str, ...]) -> None:
    text = one("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", (domain,))
    assert sorted(re.findall(r"'([a-z_]+)'", text)) == sorted(allowed)


@pytest.mark.django_db
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_the_column_takes_nothing_else(table: str, column: str) -> None:
    kind = one(
        "SELECT atttypid::regtype::text FROM pg_attribute "
        "WHERE attrelid = %s::text::regclass AND attname = %s",
        (table, column),
    )
    assert kind == COLUMNS[table, column]
    with pytest.raises(IntegrityError, match=kind), transaction.atomic():
        rows(f"SELECT 'a|b'::{kind}")


@pytest.mark.django_db
def test_the_tables_of_a_step_have_no_check_that_each_statement_would_read_anew() -> None:
    drive(make_thread(), 1)
    assert not rows(
        "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'c' AND "
        "conrelid IN ('gp_thread'::regclass, 'gp_checkpoint'::regclass, 'gp_event'::regclass)"
    )
