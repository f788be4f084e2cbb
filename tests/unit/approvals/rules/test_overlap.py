"""What two lists of an effect have in common, and the arguments of only what is new."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from approvals.rules.overlap import only_new, overlaps


def lines(*numbers: int) -> list[dict[str, Any]]:
    return [{"to": "Ada", "invoice": f"RE-{n}", "amount": f"{n}.50"} for n in numbers]


def args(*numbers: int) -> dict[str, Any]:
    total = sum((Decimal(f"{n}.50") for n in numbers), Decimal(0))
    paid = lines(*numbers)
    return {"count": len(paid), "total": f"{total:.2f}", "payments": paid, "currency": "EUR"}


@pytest.mark.requirement("E13")
def test_each_line_is_shown_as_it_was_done_and_as_it_would_be() -> None:
    (one,) = overlaps(args(1, 2, 3), args(2, 3, 4))
    assert (one.list, one.field, one.again, one.new) == ("payments", "invoice", 2, 1)
    by_name = {line.name: line for line in one.lines}
    assert by_name["RE-1"].now is None
    assert by_name["RE-4"].before is None
    assert by_name["RE-2"].again


@pytest.mark.requirement("E13")
def test_only_the_new_ones_count_and_sum_what_is_left() -> None:
    assert only_new(args(1, 2, 3), args(2, 3, 4, 5)) == args(4, 5)
    assert only_new(args(1, 2), args(1, 2)) is None, "none is new"
    assert only_new(args(1), args(2)) is None, "all are new"
    assert only_new({"n": 1}, args(1)) is None
    assert only_new(None, args(1)) is None


def test_the_key_that_the_tool_declares_names_the_lines() -> None:
    schema = {
        "properties": {
            "shifts": {
                "$ref": "#/$defs/Rota",
                "$defs": {"Rota": {"type": "array", "x-key": "slot", "items": {}}},
            }
        }
    }
    before = {"shifts": [{"id": 1, "slot": "early"}, {"id": 2, "slot": "late"}]}
    now = {"shifts": [{"id": 2, "slot": "early"}, {"id": 3, "slot": "night"}]}
    (one,) = overlaps(before, now, schema)
    assert (one.field, [line.name for line in one.lines if line.again]) == ("slot", ["early"])
    assert only_new(before, now, schema) == {"shifts": now["shifts"][1:]}
    (result,) = overlaps(before, now)
    assert result.field == "id"


numbers = some.lists(some.integers(1, 60), min_size=1, max_size=12, unique=True)


@given(numbers, numbers)
def test_what_is_new_and_what_is_not_are_all_of_it(before: list[int], now: list[int]) -> None:
    left = only_new(args(*before), args(*now))
    new = [n for n in now if n not in before]
    assert left == (args(*new) if new and len(new) < len(now) else None)
    for one in overlaps(args(*before), args(*now)):
        assert one.again == len(set(before) & set(now))
        assert {line.name for line in one.lines} == {f"RE-{n}" for n in {*before, *now}}


@pytest.mark.slow
@given(some.recursive(some.none() | some.integers() | some.text(), lambda v: some.lists(v)
    | some.dictionaries(some.text(), v), max_leaves=20))  # fmt: skip
def test_any_arguments_can_be_compared(value: Any) -> None:
    assert only_new(value, value) is None
    assert only_new({"a": value}, {"a": [value]}) is None or isinstance(value, list)
