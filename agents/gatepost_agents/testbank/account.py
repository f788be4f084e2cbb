"""What the bank owes and holds; pure. Money is whole cents here and decimal strings outside.

A reservation goes reserved -> paid -> reserved (refunded) -> released. Each change has an inverse,
named by the idempotency key under which the change was made, so that it can be taken back even by
somebody who never heard the answer.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

AMOUNT = re.compile(r"(0|[1-9][0-9]{0,14})\.([0-9]{2})")
CURRENCY = "EUR"
NEEDED = ("account", "amount", "invoice", "supplier")
TEXT_MAX = 500


class Refused(Exception):
    """The bank says no: an HTTP status and a sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def cents(text: object) -> int:
    """Whole cents of a decimal string such as "12.50"; Refused for anything else, also floats."""
    match = AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Refused(400, f"An amount is a text such as '12.50', not {text!r}.")
    return int(match[1]) * 100 + int(match[2])


def written(amount: int) -> str:
    """The decimal string of whole cents."""
    return f"{amount // 100}.{amount % 100:02}"


@dataclass
class Reservation:
    """Money set aside for named payments."""

    ident: str
    total: int
    payments: list[dict[str, Any]]
    reference: str
    state: str = "reserved"
    paid_by: str = ""
    paid_at: str = ""

    def made(self) -> list[dict[str, Any]]:
        """The payments, each with the number it was made under."""
        return [
            {"payment": _ident("P", f"{self.paid_by}/{n}"), **payment}
            for n, payment in enumerate(self.payments)
        ]


@dataclass
class Account:
    """The one account of the bank's one customer."""

    available: int
    reservations: dict[str, Reservation] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)

    def do(self, op: str, body: dict[str, Any], key: str, at: str) -> dict[str, Any]:
        """Carry out an operation and give its answer; Refused changes nothing."""
        if key in self.withdrawn:
            raise Refused(409, "This key was undone before it was used.")
        doing = {
            "reserve": self._reserve,
            "pay": self._pay,
            "refund": self._refund,
            "release": self._release,
        }
        return doing[op](body, key, at)

    def _reserve(self, body: dict[str, Any], key: str, at: str) -> dict[str, Any]:
        total, payments = cents(body.get("total")), body.get("payments")
        if body.get("currency") != CURRENCY:
            raise Refused(400, f"This account pays in {CURRENCY} only.")
        if not isinstance(payments, list) or not payments:
            raise Refused(400, "There are no payments to reserve for.")
        for payment in payments:
            if not isinstance(payment, dict) or not all(
                isinstance(payment.get(name), str) and 0 < len(payment[name]) <= TEXT_MAX
                for name in NEEDED
            ):
                raise Refused(400, f"Each payment needs {', '.join(NEEDED)} as text.")
        amounts = [cents(payment["amount"]) for payment in payments]
        if not all(amounts):
            raise Refused(400, "A payment of nothing is none.")
        if sum(amounts) != total:
            raise Refused(400, f"The payments add up to {written(sum(amounts))}, not the total.")
        if total > self.available:
            raise Refused(
                409,
                f"{written(total)} {CURRENCY} are more than the {written(self.available)} "
                f"{CURRENCY} available.",
            )
        ident = _ident("R", key)
        self.reservations[ident] = Reservation(
            ident, total, payments, str(body.get("reference", ""))[:TEXT_MAX]
        )
        self.available -= total
        return self._status_of(ident)

    def _pay(self, body: dict[str, Any], key: str, at: str) -> dict[str, Any]:
        result = self._reservation(str(body.get("reservation", "")))
        if result.state != "reserved":
            raise Refused(409, f"The reservation {result.ident} is {result.state}.")
        result.state, result.paid_by, result.paid_at = "paid", key, at
        return {**self._status_of(result.ident), "payments": result.made(), "paid_at": at}

    def _refund(self, body: dict[str, Any], key: str, at: str) -> dict[str, Any]:
        of = _of(body)
        result = next((r for r in self.reservations.values() if r.paid_by == of), None)
        if result is None:
            self.withdrawn.add(of)
            return {"refunded": written(0), "count": 0}
        result.state, result.paid_by, result.paid_at = "reserved", "", ""
        return {**self._status_of(result.ident), "refunded": written(result.total)}

    def _release(self, body: dict[str, Any], key: str, at: str) -> dict[str, Any]:
        of = _of(body)
        result = self.reservations.get(_ident("R", of))
        if result is None:
            self.withdrawn.add(of)
            return {"released": written(0), "count": 0}
        if result.state == "paid":
            raise Refused(409, f"The reservation {result.ident} is paid; refund it first.")
        if result.state == "reserved":
            result.state = "released"
            self.available += result.total
        return {**self._status_of(result.ident), "released": written(result.total)}

    def _reservation(self, ident: str) -> Reservation:
        if ident not in self.reservations:
            raise Refused(404, f"There is no reservation {ident[:40]!r}.")
        return self.reservations[ident]

    def _status_of(self, ident: str) -> dict[str, Any]:
        result = self.reservations[ident]
        return {
            "reservation": ident,
            "state": result.state,
            "total": written(result.total),
            "currency": CURRENCY,
            "count": len(result.payments),
            "reference": result.reference,
        }

    def balance(self) -> dict[str, str]:
        """Available, reserved and paid, as decimal strings."""
        sums = {"reserved": 0, "paid": 0}
        for item in self.reservations.values():
            if item.state in sums:
                sums[item.state] += item.total
        return {
            "currency": CURRENCY,
            "available": written(self.available),
            **{state: written(total) for state, total in sums.items()},
        }

    def payments(self, suppliers: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
        """Every payment that stands now, of these suppliers or of all."""
        return [
            {"reservation": r.ident, "reference": r.reference, "paid_at": r.paid_at, **payment}
            for r in self.reservations.values()
            if r.state == "paid"
            for payment in r.made()
            if not suppliers or payment["supplier"] in suppliers
        ]


def _of(body: dict[str, Any]) -> str:
    of = body.get("of")
    if not isinstance(of, str) or not of:
        raise Refused(400, "Say in `of` which key is to be undone.")
    return of


def _ident(kind: str, key: str) -> str:
    return f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
