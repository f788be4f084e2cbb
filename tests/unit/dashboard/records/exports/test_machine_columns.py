"""CSV of exports for machines: numbers, codes, ISO times, and the payee that it was found by."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from dashboard.records.export import export_records
from dashboard.records.exports.parties import parties_of
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.exports.second_verifier import is_number

pytestmark = pytest.mark.django_db

LINES = [
    {"creditor": {"name": "Hafenkran GmbH"}, "amount": "8522.00", "currency": "EUR"},
    {"creditor": {"name": "Tauern AG"}, "amount": "-22.10", "currency": "EUR"},
]
FRANCS = [{"payee": "A", "amount": 1, "currency": "CHF"}]
CASES: tuple[tuple[Any, tuple[str, str, str]], ...] = (
    ({"payee": "ACME", "amount": "8522.00", "currency": "EUR"}, ("8522.00", "EUR", "ACME")),
    ({"amount": -12.5, "to": "Bob"}, ("-12.5", "", "Bob")),
    ({"payments": LINES}, ("8499.90", "EUR", "Hafenkran GmbH; Tauern AG")),
    ({"currency": "EUR", "lines": [{"payee": "A", "amount": 1}]}, ("1", "EUR", "A")),
    ({"lines": [*LINES, *FRANCS]}, ("", "", "Hafenkran GmbH; Tauern AG; A")),
    ({"lines": [*LINES, {"payee": "A"}]}, ("", "", "Hafenkran GmbH; Tauern AG; A")),
    ({"batch": {"deep": [{"more": {"vendor": "Deep Ltd"}}]}}, ("", "", "Deep Ltd")),
    ({"recipients": ["a", "b"]}, ("", "", "")),
    ({}, ("", "", "")),
    (None, ("", "", "")),
    ([{"payee": "A", "amount": 3}], ("", "", "A")),
)


@pytest.mark.parametrize(("args", "expected"), CASES)
def test_parties_of_arguments(args: Any, expected: tuple[str, str, str]) -> None:
    assert parties_of(args) == expected


@pytest.mark.requirement("A38")
def test_a_search_by_payee_fills_amount_currency_and_payee(cast: Cast) -> None:
    for args, _ in CASES:
        if isinstance(args, dict) and args:
            work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
            scene.gate(work, args=args, tool="bank.pay", title="Pay €8,522.00?")
    export = export_records(cast.actor("auditor"), {"payee": "hafenkran"}, form="csv")
    with zipfile.ZipFile(io.BytesIO(b"".join(export.chunks()))) as packed:
        text = packed.read("events.csv").decode()
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(table) == 3
    for row in table:
        assert "Hafenkran GmbH" in row["payee"]
        assert datetime.fromisoformat(row["at"]).tzinfo == UTC
        assert row["amount"] == "" or is_number(row["amount"])
    assert sum(Decimal(row["amount"] or 0) for row in table) == Decimal("8499.90")
    export = export_records(cast.actor("auditor"), {"payee": "bob"}, form="csv")
    with zipfile.ZipFile(io.BytesIO(b"".join(export.chunks()))) as packed:
        [row] = csv.DictReader(io.StringIO(packed.read("events.csv").decode(), newline=""))
    assert (row["amount"], row["currency"]) == ("-12.5", "")
