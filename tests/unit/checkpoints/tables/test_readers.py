"""A record is read by the names of its fields, whatever their order and that of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from checkpoints.tables.columns import ACTIVITY
from checkpoints.tables.readers import Reader


@dataclass(frozen=True)
class Called:
    usage: Any
    node: str
    salt: bytes | None
    call: str


def test_a_record_is_read_by_the_names_of_its_fields() -> None:
    read = Reader(Called, ACTIVITY, alias="a", sql={"call": "tool"}, decode={"node": str.upper})
    assert read.select == "a.usage::text, a.node, a.salt, a.tool"
    row = ('{"tokens":1}', "plan", memoryview(b"x"), "search")
    assert read(row) == Called({"tokens": 1}, "PLAN", b"x", "search")
    assert read((None, "", None, "")) == Called(None, "", None, "")


def test_stored_json_stays_text_where_it_is_hashed() -> None:
    read = Reader(Called, ACTIVITY, sql={"call": "upper(tool)"}, json_as_text=True)
    assert read.select == "usage::text, node, salt, upper(tool)"
    assert read(('{"tokens":1}', "", None, "")).usage == '{"tokens":1}'


def test_a_field_that_is_no_column_is_refused_at_import() -> None:
    with pytest.raises(KeyError, match="gp_activity has no column call"):
        Reader(Called, ACTIVITY)
