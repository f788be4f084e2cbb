"""The lists of columns are those of the models and of the database; seals take what they say."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from approvals import columns as of_approvals
from approvals.rules.proposals import decision_content
from checkpoints.chain.links import LINK_TEXT
from checkpoints.log import seals
from checkpoints.tables import columns as of_checkpoints
from checkpoints.tables.columns import ACTIVITY, CHECKPOINT, EVENT, POSITION
from checkpoints.tables.listed import Columns, listed

LISTS = [
    columns
    for module in (of_checkpoints, of_approvals)
    for columns in vars(module).values()
    if isinstance(columns, Columns)
]
MODELS = {model._meta.db_table: model for model in apps.get_models()}
IN_THE_DATABASE = """
SELECT a.attname, coalesce(nullif(t.typbasetype, 0), t.oid) = to_regtype(%s), a.attnotnull
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attname = %s AND NOT a.attisdropped
"""


def of_table(columns: Columns) -> str:
    return columns.table


@pytest.mark.parametrize("columns", LISTS, ids=of_table)
def test_a_list_has_each_column_of_its_model_once_and_in_order(columns: Columns) -> None:
    fields = MODELS[columns.table]._meta.concrete_fields
    assert list(columns) == [field.column for field in fields]


@pytest.mark.parametrize("columns", LISTS, ids=of_table)
def test_each_column_has_the_type_of_the_database(db: None, columns: Columns) -> None:
    with connection.cursor() as cursor:
        for name, column in columns.items():
            cursor.execute(IN_THE_DATABASE, (column.type, columns.table, name))
            assert cursor.fetchone() == (name, True, not column.nullable), (columns.table, name)


def test_each_table_has_one_list() -> None:
    assert len({columns.table for columns in LISTS}) == len(LISTS) > 8


def named_by(function: Callable[..., Any]) -> set[str]:
    """The parameters of a function that hashes, as columns."""
    ids = {"agent_version": "agent_version_id", "approval": "approval_id", "config_hash": "config"}
    return {ids.get(name, name) for name in inspect.signature(function).parameters}


def test_what_is_called_sealed_enters_the_hash() -> None:
    linked = {name for _, name, _, _ in string.Formatter().parse(LINK_TEXT) if name}
    assert linked - {"chain"} == set(EVENT.sealed)
    assert named_by(seals.checkpoint_seal) == set(CHECKPOINT.sealed)
    assert named_by(decision_content) == set(of_approvals.DECISION.sealed)
    assert set(POSITION) < set(ACTIVITY.sealed) & set(of_approvals.APPROVAL.sealed)


def test_a_slip_in_a_list_is_refused_at_import() -> None:
    for lines in ("id uuid\nid uuid", "id uuid prooved"):
        with pytest.raises(ValueError, match=r"gp_x\.id"):
            listed("gp_x", lines)
    with pytest.raises(KeyError):
        EVENT.only("sequence")
    with pytest.raises(KeyError):
        EVENT.without("sequence")


def test_the_texts_of_some_columns() -> None:
    some = EVENT.only("seq", "data", "salt")
    assert some.select("e") == "e.seq, e.data::text, e.salt"
    assert some.insert == (
        "INSERT INTO gp_event (seq, data, salt) "
        "VALUES (%(seq)s::bigint, %(data)s::jsonb, %(salt)s::bytea)"
    )
    assert some.row((1, "{}", memoryview(b"x"))) == {"seq": 1, "data": "{}", "salt": b"x"}
