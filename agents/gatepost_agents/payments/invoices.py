"""Invoices, orders and suppliers as this agent works with them, from files of any columns.

A line of invoices: {"line", "invoice", "supplier", "name", "order", "issued", "due", "amount",
"currency", "account"}, all text, "line" the number of the line in the file. A problem: {"line",
"invoice", "supplier", "amount", "check", "why"}.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from .money import NoAmount, amount, decimal_mark
from .problems import BrokenLine, UnusableSetting, all_of, quoted
from .table import Field, Table, columns

type Line = dict[str, str]
type Problem = dict[str, str]

DATA = Path(__file__).with_name("data")
CURRENCY = "EUR"
NEWS = 20  # so often is told how far the reading is
LINE = ("line", "invoice", "supplier", "name", "order", "issued", "due", "amount", "currency",
        "account")  # fmt: skip

INVOICES = (
    Field("invoice", ("invoice no", "invoice number", "invoice id", "number", "rechnung",
                      "rechnungsnummer", "belegnummer")),
    Field("supplier", ("supplier no", "supplier number", "supplier id", "vendor", "vendor no",
                       "vendor number", "vendor id", "creditor", "lieferant", "kreditor",
                       "lieferantennummer")),
    Field("name", ("supplier name", "vendor name", "lieferantenname"), optional=True),
    Field("order", ("order no", "order number", "purchase order", "po", "po number", "bestellung",
                    "bestellnummer")),
    Field("issued", ("invoice date", "date", "issue date", "rechnungsdatum"), optional=True),
    Field("due", ("due date", "payable until", "payment due", "faellig", "fällig", "fällig am",
                  "fälligkeit")),
    Field("amount", ("total", "gross", "gross amount", "invoice amount", "amount due", "betrag",
                     "bruttobetrag", "rechnungsbetrag")),
    Field("currency", ("curr", "ccy", "währung"), optional=True),
    Field("account", ("iban", "account number", "bank account", "konto", "kontonummer")),
)  # fmt: skip
ORDERS = (
    Field("order", ("order no", "order number", "purchase order", "po", "po number", "bestellung",
                    "bestellnummer")),
    Field("supplier", ("supplier no", "supplier number", "supplier id", "vendor", "vendor no",
                       "vendor number", "vendor id", "lieferant", "kreditor")),
    Field("amount", ("total", "order amount", "gross", "gross amount", "betrag", "bestellwert")),
    Field("currency", ("curr", "ccy", "währung"), optional=True),
)  # fmt: skip
SUPPLIERS = (
    Field("supplier", ("supplier no", "supplier number", "supplier id", "vendor", "vendor no",
                       "vendor number", "vendor id", "number", "lieferant", "kreditor")),
    Field("name", ("supplier name", "vendor name", "lieferantenname")),
    Field("account", ("iban", "account number", "bank account", "konto", "kontonummer")),
    Field("mail", ("email", "e-mail", "mail address", "e-mail address"), optional=True),
)  # fmt: skip


def problem(line: Mapping[str, str], check: str, why: str) -> Problem:
    """The problem of a line, with the check that found it."""
    saved = {name: line[name] for name in ("line", "invoice", "supplier", "amount")}
    return {**saved, "check": check, "why": why}


def read_invoices(
    table: Table,
    *,
    named: Mapping[str, str],
    corrected: Mapping[str, str],
    stop: bool,
    report: Callable[[int, int, str], None] = lambda *_: None,
) -> tuple[list[Line], list[Problem], dict[str, str]]:
    """(lines, problems of those that cannot be read, {field: column}).

    `corrected` holds amounts by the number of their line. A line that cannot be read is set aside
    with its reason, its amount as the file has it; with `stop` they raise one BrokenLine.
    `report(done, total, text)` is called with the progress; the last call has done = total.
    """
    places = columns(table, INVOICES, named)
    _check_corrections(table, corrected)
    records = list(table.records(places))
    mark = decimal_mark(record["amount"] for _, record in records)
    lines: list[Line] = []
    problems: list[Problem] = []
    broken: list[tuple[str, str, str]] = []
    whole, step = len(records), max(1, len(records) // NEWS)
    for n, (number, record) in enumerate(records, start=1):
        line = {name: record.get(name, "") for name in LINE} | {"line": str(number)}
        line["currency"] = (line["currency"] or CURRENCY).upper()
        line["account"] = re.sub(r"\s", "", line["account"]).upper()
        field, why = _mend(line, mark, corrected.get(str(number)))
        lines.append(line)
        if why:
            problems.append(problem(line, "reading", f"{why[0].upper()}{why[1:]}."))
            broken.append((line["line"], field, why))
        if n % step == 0 or n == whole:
            report(n, whole, f"{n:,} of {whole:,} lines read")
    if broken and stop:
        raise BrokenLine(table.name, broken)
    return lines, problems, {field: table.header[at] for field, at in places.items()}


def _check_corrections(table: Table, corrected: Mapping[str, str]) -> None:
    known = {str(number) for number, _ in table.rows}
    wrong: list[str] = []
    for number, text in corrected.items():
        if number not in known:
            wrong.append(
                f"`corrected` names line {quoted(number)}, which {quoted(table.name)} does not "
                f"have; its lines are 2 to {table.rows[-1][0]}."
            )
            continue
        try:
            amount(text, ".")
        except NoAmount as error:
            wrong.append(f"`corrected` gives line {number} the amount {quoted(text)}, but {error}.")
    if wrong:
        raise UnusableSetting(all_of(wrong))


def _mend(line: Line, mark: str, corrected: str | None) -> tuple[str, str]:
    """Put amount and dates into their one form; (field, why it cannot be read), or two blanks."""
    written = line["amount"]
    for name in ("due", "issued"):
        result = day(line[name])
        if line[name] and not result:
            return (
                name,
                f"the date {quoted(line[name])} does not exist or is not written as 2026-11-30",
            )
        line[name] = result
    try:
        line["amount"] = amount(*((corrected, ".") if corrected is not None else (written, mark)))
    except NoAmount as error:
        return "amount", f"{error} ({quoted(written)})" if written else str(error)
    for name in ("invoice", "due"):
        if not line[name]:
            return name, f"there is no {'invoice number' if name == 'invoice' else 'due date'}"
    return "", ""


def day(text: str) -> str:
    """A date in ISO form, of 2026-11-30 or 30.11.2026; nothing for anything else."""
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    parts = match.groups() if match else ()
    if not match and (match := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text, re.ASCII)):
        parts = match.groups()[::-1]
    try:
        return date(*map(int, parts)).isoformat() if parts else ""
    except ValueError:
        return ""


def read_orders(table: Table, named: Mapping[str, str]) -> dict[str, Line]:
    """{order: {"order", "supplier", "amount", "currency"}}; an amount nobody can read is empty."""
    places = columns(table, ORDERS, named, "orders.")
    records = [record for _, record in table.records(places)]
    mark = decimal_mark(record["amount"] for record in records)
    orders: dict[str, Line] = {}
    for record in records:
        try:
            value = amount(record["amount"], mark)
        except NoAmount:
            value = ""
        currency = (record.get("currency") or CURRENCY).upper()
        if record["order"]:
            orders[record["order"]] = {**record, "amount": value, "currency": currency}
    return orders


def read_suppliers(table: Table, named: Mapping[str, str]) -> dict[str, Line]:
    """{supplier: {"supplier", "name", "account", "mail"}}; the account is the one paid last."""
    places = columns(table, SUPPLIERS, named, "suppliers.")
    suppliers: dict[str, Line] = {}
    for _, record in table.records(places):
        account = re.sub(r"\s", "", record["account"]).upper()
        if record["supplier"]:
            suppliers[record["supplier"]] = {"mail": "", **record, "account": account}
    return suppliers


def to_csv(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> bytes:
    """Rows as a CSV file, the same bytes for the same rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def from_csv(raw: bytes) -> list[Line]:
    """Rows that `to_csv` wrote."""
    return list(csv.DictReader(io.StringIO(raw.decode(), newline="")))
