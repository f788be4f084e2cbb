"""Remittance advice: one mail per supplier, written as a file into the outbox folder.

What is in the outbox is as good as sent: the program that delivers mail may have taken it. So there
is no way to take one back. Name, date and Message-ID come from the idempotency key, so that the
same key writes the same bytes to the same file, and a mail server knows a repeated one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from ..published.outbox import put_mails
from .money import shown, total

FROM = Address("Accounts payable", "payable", "gatepost.invalid")


def drafts(
    payments: Iterable[Mapping[str, str]], suppliers: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """(mails, suppliers without an address that mail can go to).

    A mail: {"to", "name", "supplier", "total", "invoices": [{"invoice", "amount", "account"}]}.
    """
    grouped: dict[str, list[Mapping[str, str]]] = {}
    for payment in payments:
        grouped.setdefault(payment["supplier"], []).append(payment)
    mails, silent = [], []
    for supplier, theirs in sorted(grouped.items()):
        known = suppliers.get(supplier, {})
        if not is_address(known.get("mail", "")):
            silent.append(supplier)
            continue
        mails.append({
            "to": known["mail"],
            "name": known.get("name") or supplier,
            "supplier": supplier,
            "total": total(one["amount"] for one in theirs),
            "invoices": [
                {name: one[name] for name in ("invoice", "amount", "account")} for one in theirs
            ],
        })  # fmt: skip
    return mails, silent


def is_address(text: str) -> bool:
    """Answer True for one plain mail address."""
    return bool(re.fullmatch(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", text))


def send(
    outbox: Path, mails: Iterable[Mapping[str, Any]], *, reference: str, paid_at: str, key: str
) -> dict[str, Any]:
    """Write the mails; {"sent", "mails": [{"file", "to", "total"}]}. OSError when that fails.

    A file that is there already is left alone: the same key wrote it.
    """
    sent, contents = [], {}
    for mail in mails:
        mark = hashlib.sha256(f"{key}/{mail['supplier']}".encode()).hexdigest()[:24]
        safe = re.sub(r"[^A-Za-z0-9-]+", "-", mail["supplier"])[:40]
        name = f"{paid_at[:10]}-{safe}-{mark}.eml"
        contents[name] = _message(mail, reference=reference, paid_at=paid_at, mark=mark)
        sent.append({"file": name, "to": mail["to"], "total": mail["total"]})
    put_mails(outbox, contents)
    return {"sent": len(sent), "mails": sent}


def _message(mail: Mapping[str, Any], *, reference: str, paid_at: str, mark: str) -> bytes:
    message = EmailMessage(policy=SMTP)
    local, _, domain = str(mail["to"]).partition("@")
    plain = " ".join(str(mail["name"]).split())
    message["From"] = FROM
    message["To"] = Address(plain, local, domain)
    message["Subject"] = f"Remittance advice {reference}: {shown(mail['total'])} EUR"
    message["Date"] = format_datetime(datetime.fromisoformat(paid_at))
    message["Message-ID"] = f"<{mark}@gatepost.invalid>"
    rows = [
        f"  {one['invoice']:<20} {shown(one['amount']):>14} EUR   to {one['account']}"
        for one in mail["invoices"]
    ]
    message.set_content(
        f"To {plain}\n\nOn {paid_at[:10]} we paid these invoices of yours:\n\n"
        + "\n".join(rows)
        + f"\n\n  {'Total':<20} {shown(mail['total']):>14} EUR\n\nOur reference: {reference}\n"
    )
    return message.as_bytes()
