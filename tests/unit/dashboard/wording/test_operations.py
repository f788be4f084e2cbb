"""A request of an operation shows its values; a long one says how much it leaves out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.wording import operations


def shown(value: Any) -> str:
    row: Any = SimpleNamespace(
        tool="signal", args={"asked_by_name": "Ada", "arguments": {"value": value}}
    )
    [(label, text)] = operations.operation(row).details
    assert label == "Its value"
    return text


@pytest.mark.parametrize("length", [1, 2, 490, 496])
def test_a_short_value_is_whole(length: int) -> None:
    assert shown(["x" * length]) == f'["{"x" * length}"]'


@pytest.mark.parametrize("length", [497, 498, 5_000, 100_000])
def test_a_long_one_says_how_much_more_there_is(length: int) -> None:
    whole = f'["{"x" * length}"]'
    assert shown(["x" * length]) == f"{whole[:500]} … {len(whole) - 500:,} more characters"
