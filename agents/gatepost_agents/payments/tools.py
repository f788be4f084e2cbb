"""What this agent does outside: at the bank and in the outbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from gatepost import setting, tool

from . import bank
from .invoices import CURRENCY
from .mail import send
from .money import shown, total
from .plurals import counted


class Payment(TypedDict):
    """One line of what is paid."""

    to: str
    due: str
    amount: str
    account: str
    invoice: str
    supplier: str


class Paid(TypedDict):
    """One invoice in a mail."""

    invoice: str
    amount: str
    account: str


class Mail(TypedDict):
    """One mail to one supplier."""

    to: str
    name: str
    supplier: str
    total: str
    invoices: list[Paid]


def _forward_key(result: Any, key: str) -> str:
    """The key under which the effect happened; a lost answer leaves only the undo's own."""
    if isinstance(result, dict) and isinstance(result.get("key"), str):
        return str(result["key"])
    return key.removeprefix("undo:")


def release(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    """Give reserved money free again."""
    of = _forward_key(result, key)
    return bank.post(setting("GATEPOST_BANK_URL"), "release", {"of": of}, key=key)


def describe_reservation(args: dict[str, Any], result: Any) -> str:
    """Such as "Reserve 222,532.88 EUR for 31 invoices of 24 suppliers"."""
    suppliers = {payment["supplier"] for payment in args["payments"]}
    return (
        f"{'Reserve' if result is None else 'Reserved'} {shown(args['total'])} {args['currency']} "
        f"for {counted(len(args['payments']))} of {counted(len(suppliers), 'supplier')}"
    )


@tool("bank.reserve", undo=release, idempotent=True, describe=describe_reservation)
def reserve(
    count: int,
    total: str,
    currency: str,
    payments: list[Payment],
    reference: str,
    *,
    key: str,
) -> dict[str, Any]:
    """Set money aside at the bank for exactly these payments; the bank pays no others from it."""
    body = {
        "total": total,
        "currency": currency,
        "payments": payments,
        "reference": reference,
    }
    return {**bank.post(setting("GATEPOST_BANK_URL"), "reserve", body, key=key), "key": key}


def refund(args: dict[str, Any], result: Any, *, key: str) -> dict[str, Any]:
    """Call paid money back into its reservation."""
    of = _forward_key(result, key)
    return bank.post(setting("GATEPOST_BANK_URL"), "refund", {"of": of}, key=key)


def describe_payment(args: dict[str, Any], result: Any) -> str:
    """Such as "Pay 31 invoices, 222,532.88 EUR"; afterwards what the bank says it paid."""
    done = args if result is None else result
    verb = "Pay" if result is None else "Paid"
    return f"{verb} {counted(done['count'])}, {shown(done['total'])} {CURRENCY}"


@tool("bank.pay", undo=refund, idempotent=True, describe=describe_payment)
def pay(reservation: str, count: int, total: str, *, key: str) -> dict[str, Any]:
    """Pay all that was reserved, in one go: the bank does all of it or nothing."""
    body = {"reservation": reservation}
    return {**bank.post(setting("GATEPOST_BANK_URL"), "pay", body, key=key), "key": key}


def describe_mails(args: dict[str, Any], result: Any) -> str:
    """Such as "Mail 24 suppliers remittance advice on 222,532.88 EUR"."""
    verb, mails = ("Mail", args["mails"]) if result is None else ("Mailed", result["mails"])
    amount = shown(total(one["total"] for one in mails))
    return f"{verb} {counted(len(mails), 'supplier')} remittance advice on {amount} {CURRENCY}"


@tool("remittance.mail", idempotent=True, describe=describe_mails)
def mail(mails: list[Mail], reference: str, paid_at: str, *, key: str) -> dict[str, Any]:
    """Write remittance advice into the outbox; what is there may be delivered at any moment."""
    return send(
        Path(setting("GATEPOST_OUTBOX")), mails, reference=reference, paid_at=paid_at, key=key
    )
