"""What is no answer of a model is refused with the members of one, not with what Python says."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.errors import Invalid
from dashboard.threads import fork

ODD: list[dict[str, Any]] = [
    {"texts": "x"},
    {"text": "x", "tool_calls": 1},
    {"text": "x", "tool_calls": [1]},
    {"text": "x", "tool_calls": [{"name": "a"}]},
    {"text": "x", "usage": 3},
    {"text": "x", "more": None},
]


@pytest.mark.parametrize("output", ODD, ids=str)
def test_the_members_are_named(output: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as error:
        fork._check_answer(output)
    message = error.value.faults[0].message
    assert message.startswith("is not an answer of a model as it is recorded; its members are text")


def test_an_answer_is_taken() -> None:
    fork._check_answer({"text": "x"})
