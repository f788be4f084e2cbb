"""The state: what a person asks for, what was found, what was done."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gatepost import Append, Decimal, State

Ref = dict[str, Any]
Row = dict[str, str]
AMOUNT = r"^\d{1,12}(\.\d{1,2})?$"
DAY = r"^(\d{4}-\d{2}-\d{2})?$"


def _input_field(title: str, description: str, **extra: Any) -> Any:
    """A field of the start form."""
    pattern = extra.pop("pattern", None)
    return Field(
        title=title, description=description, pattern=pattern, json_schema_extra=extra or None
    )


def _file(title: str, description: str, **extra: Any) -> Any:
    return _input_field(title, description, **{"x-gatepost": "artifact"}, **extra)


def _result_field(title: str) -> Any:
    """A field that the agent fills."""
    return Field(title=title, json_schema_extra={"readOnly": True})


class Payments(State):
    """One payment of many invoices."""

    file: Annotated[
        Ref | None,
        _file(
            "Your invoices",
            "CSV with a header. Default: a sample.",
            **{"x-title": "Invoices of {}"},
        ),
    ] = None
    orders_file: Annotated[
        Ref | None, _file("Your orders", "CSV: order, supplier, amount. Default: the sample.")
    ] = None
    suppliers_file: Annotated[
        Ref | None,
        _file(
            "Your suppliers", "CSV: supplier, name, account paid last, mail. Default: the sample."
        ),
    ] = None
    due_by: Annotated[
        str,
        _input_field(
            "Due by",
            "Pay what is due until this day (2026-11-30).",
            pattern=DAY,
            **{"x-title": "Invoices due by {}"},
        ),
    ] = ""
    only: Annotated[
        list[str],
        _input_field(
            "Only these suppliers",
            "Their numbers. Default: all suppliers.",
            **{"x-title": "Invoices of {}"},
        ),
    ] = []
    at_most: Annotated[
        str, _input_field("At most in all", "Amount. Default: no limit.", pattern=rf"{AMOUNT}|^$")
    ] = ""
    most: Annotated[
        int, Field(title="Invoices per approval", description="More wait.", ge=1, le=500)
    ] = 100
    limit: Annotated[
        str, _input_field("Limit per invoice", "Set aside what is above it.", pattern=AMOUNT)
    ] = "25000.00"
    tolerance: Annotated[
        str, _input_field("Tolerance", "How far an invoice may be off its order.", pattern=AMOUNT)
    ] = "0.00"
    on_broken: Annotated[
        Literal["set aside", "stop"],
        _input_field(
            "Lines that cannot be read", "Set them aside and say why, or stop and list them."
        ),
    ] = "set aside"
    corrected: Annotated[
        dict[str, str],
        _input_field("Corrected amounts", 'By line of the file, as in {"17": "450.00"}.'),
    ] = {}
    confirmed: Annotated[
        list[str],
        _input_field("Confirmed accounts", "Suppliers whose new account was confirmed with them."),
    ] = []
    columns: Annotated[
        dict[str, str],
        _input_field(
            "Columns", 'Where names are not understood, as in {"amount": "Betrag brutto"}.'
        ),
    ] = {}
    check_paid: Annotated[
        bool, _input_field("Ask the bank", "Leave out what the bank has paid already.")
    ] = True

    source: Annotated[dict[str, Any], _result_field("What was read")] = {}
    lines: Annotated[Ref | None, _result_field("Invoices read")] = None
    orders: Annotated[Ref | None, _result_field("Orders read")] = None
    suppliers: Annotated[Ref | None, _result_field("Suppliers read")] = None
    set_aside: Annotated[list[Row], Append(), _result_field("Set aside")] = []
    waiting: Annotated[list[Row], _result_field("Waiting")] = []
    payments: Annotated[list[Row], _result_field("To be paid")] = []
    total: Annotated[str, _result_field("Total to be paid")] = "0.00"
    reservation: Annotated[dict[str, Any], _result_field("Reservation")] = {}
    paid: Annotated[str, Decimal(), _result_field("Paid")] = "0.00"
    receipt: Annotated[dict[str, Any], _result_field("Payment")] = {}
    mails: Annotated[list[dict[str, Any]], _result_field("Mails")] = []
    report: Annotated[dict[str, Ref], _result_field("Report")] = {}
    log: Annotated[list[str], Append(), _result_field("Log")] = []
    outcome: Annotated[str, _result_field("Outcome")] = ""
