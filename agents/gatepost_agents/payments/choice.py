"""Which of the open invoices are paid now; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from .invoices import Line
from .money import shown, total

Payment = dict[str, str]


def choose(
    lines: Sequence[Line],
    *,
    due_by: str = "",
    only: Collection[str] = (),
    at_most: str = "",
    most: int,
) -> dict[str, Any]:
    """{"payments", "count", "total", "waiting"}: by due date, until money or places are used up.

    A payment: {"to", "due", "amount", "account", "invoice", "supplier"}. One that does not fit into
    `at_most` waits, and a later, smaller one may still fit. "waiting": [{"line", "invoice",
    "amount", "why"}].
    """
    chosen: list[Line] = []
    waiting: list[dict[str, str]] = []
    spent = Decimal(0)
    for line in sorted(lines, key=lambda line: (line["due"], int(line["line"]))):
        value = Decimal(line["amount"])
        if only and line["supplier"] not in only:
            why = "It is not of the suppliers that were asked for."
        elif due_by and line["due"] > due_by:
            why = f"It is due on {line['due']}, after {due_by}."
        elif len(chosen) >= most:
            why = f"{most} invoices are enough for one approval."
        elif at_most and spent + value > Decimal(at_most):
            why = f"The {shown(at_most)} of this payment are used up."
        else:
            chosen.append(line)
            spent += value
            continue
        saved = {name: line[name] for name in ("line", "invoice", "amount")}
        waiting.append({**saved, "why": why})
    payments = [
        {
            "to": line["name"] or line["supplier"],
            "due": line["due"],
            "amount": line["amount"],
            "account": line["account"],
            "invoice": line["invoice"],
            "supplier": line["supplier"],
        }
        for line in chosen
    ]
    return {
        "payments": payments,
        "count": len(payments),
        "total": total(p["amount"] for p in payments),
        "waiting": waiting,
    }
