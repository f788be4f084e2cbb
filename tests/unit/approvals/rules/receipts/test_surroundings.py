"""Whatever stands around a value and makes it another one keeps it from being recorded."""

from __future__ import annotations

from typing import Any

import pytest

from .test_receipts import of, output

pytestmark = pytest.mark.requirement("G04")

TEXT = "it says {} on the page that was read"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        # A sign that stands apart, before the currency, or is another dash.
        ("1234.50", "–1,234.50"), ("1234.50", "a balance: - 1,234.50"), (1234.5, "-EUR 1,234.50"),
        (1234.5, "-€1,234.50"), (1234, "minus 1234"), ("1234.50", "1,234.50-"),
        # A scale, also behind or before the currency.
        (253, "EUR 253k"), (253, "€253 million"), ("253 EUR", "253 EUR million"), (253, "253M"),
        ("253 EUR", "€253M"), ("$253", "$253K"), (253, "253 thousands"), (253, "253 lakh"),
        (253, "253 (in thousands)"), (253, "253 cents"), (453, "4.53B and 453B"),
        # A factor, an exponent, a fraction, an identifier.
        (1.23, "1.23E+6"), (123, "123 × 10^6"), (123, "123*1000"), (123, "123²"), (123, "123½"),
        (123, "123 1/2"), (123, "123rd"), (123, "the size 123x"),
        # The thousands before or behind it, apart by a space.
        (345, "12 345"), ("345.50", "12 345.50 EUR"), (123, "123 456 of them"),
        # What cannot be seen, accents, dashes of other kinds.
        ("PO-4711", "PO-4711\u200b2"), ("PO-4711", "PO-4711\u00ad2"), ("PO-4711", "PO-4711\u20112"),
        ("Aberman x", "Aberman x\u0302"), (12345, "12345\u200b6"),
        # Parts of addresses and paths.
        ("https://example.com/", "https://example.com/evil"), ("/etc/app", "/var/etc/app"),
        ("https://example.com/a", "https://example.com/a?to=evil"),
        ("https://example.com/a", "https://example.com/a%20b"),
        ("ann@example.com", "x%ann@example.com"),
    ],
)  # fmt: skip
def test_a_part_of_something_else_is_not_recorded(value: Any, written: str) -> None:
    assert of({"x": value}, output({"text": TEXT.format(written)}))["$.x"] == "agent"
    assert of({"x": value}, output({"y": written}))["$.x"] == "agent"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1234.5, "the total - 1,234.50"), (1234.5, "- EUR 1,234.50"), (-1234.5, "−1,234.50 EUR"),
        ("253 million", "253 million"), ("€253K", "€253K"), ("12.5 %", "12.5%"),
        (34512, "1001 34512 77 88"), (345, "invoice 1001: 345 pieces"), ("PO-4711", "id=PO-4711"),
        ("Acme Ltd", "Acme Ltd—the supplier"), ("https://example.com/", "https://example.com/."),
        ("1,234.50 EUR", "EUR 1,234.50 in May"),
    ],
)  # fmt: skip
def test_what_stands_there_as_a_whole_is_recorded(value: Any, written: str) -> None:
    assert of({"x": value}, output({"text": TEXT.format(written)}))["$.x"] == "recorded"


@pytest.mark.parametrize("key", ["amount_cents", "amountCents", "cents_total", "amount_thousands"])
def test_an_amount_under_a_key_of_another_scale_is_another_amount(key: str) -> None:
    source = output({key: 125_000, "currency": "EUR"})
    assert of({"amount": 125_000, "currency": "EUR"}, source)["$.amount"] == "agent"
    assert of({key: 125_000, "currency": "EUR"}, source)[f"$.{key}"] == "recorded"


@pytest.mark.parametrize("query", ["pay (1,234,567.00)", "pay 1 234 567 now", "n=-1234567"])
def test_an_answer_that_repeats_a_number_is_no_evidence_however_it_was_written(query: str) -> None:
    assert of({"x": 1_234_567}, output({"y": 1_234_567}, {"q": query}))["$.x"] == "agent"


def test_a_column_of_numbers_that_no_float_can_sum_is_no_sum() -> None:
    rows = [{"a": 1e308}, {"a": 1e308}, {"a": -1e308}]
    assert of({"x": 1234.5}, output({"rows": rows}))["$.x"] == "agent"
