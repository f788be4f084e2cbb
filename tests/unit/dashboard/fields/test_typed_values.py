"""A number that a person types means what is written or is refused; it never ends in an error."""

from __future__ import annotations

import pytest

from dashboard.fields import form as fields
from dashboard.fields import message
from dashboard.fields.state_text import changes_of
from dashboard.fields.typed_values import without_thousands

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1,000", "1000"), ("1,234,567.50", "1234567.50"), ("-1,000", "-1000"), ("12", "12"),
        ("1,5", "1,5"), ("0,50", "0,50"), ("1,0000", "1,0000"), ("1000,000", "1000,000"),
        ("1.234,50", "1.234,50"), (",5", ",5"), ("1,,000", "1,,000"), ("", ""),
    ],
)  # fmt: skip
def test_commas_stand_between_thousands_alone(text: str, plain: str) -> None:
    assert without_thousands(text) == plain


def test_a_comma_for_a_point_is_refused() -> None:
    assert fields.from_text("1,000", "integer") == 1_000
    with pytest.raises(fields.Unreadable):
        fields.from_text("1,5", "integer")


@pytest.mark.parametrize("text", ["9" * 5_000, f'{{"a": [{"9" * 5_000}]}}', DEEP])
def test_json_of_long_numbers_and_great_depth_is_refused_in_words(text: str) -> None:
    with pytest.raises(fields.Unreadable):
        fields.from_json(text)
    with pytest.raises(fields.Unreadable):
        changes_of(f'{{"goal": {text}}}', {}, {"goal": "tea"})


def test_a_message_of_great_depth_is_a_text() -> None:
    assert not message._is_message(DEEP)
