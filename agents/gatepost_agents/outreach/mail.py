"""One mail to one company as a file; the same key writes the same bytes under the same name."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from ..payments.mail import is_address
from .drafts import one_line

FROM = ("outreach", "gatepost.invalid")


class UnusableAddress(ValueError):
    """An address that no mail can go to."""


def message(
    *, to: str, name: str, subject: str, body: str, sender: str, reply_to: str, at: str, key: str
) -> tuple[str, bytes]:
    """(file name, content) of a mail; raises UnusableAddress."""
    for address in (to, *([reply_to] if reply_to else [])):
        if not is_address(address):
            raise UnusableAddress(f"`{address}` is not an address that mail can go to; correct it.")
    mark = hashlib.sha256(key.encode()).hexdigest()[:24]
    mail = EmailMessage(policy=SMTP)
    local, _, domain = to.partition("@")
    mail["From"] = Address(one_line(sender) or "Outreach", *FROM)
    mail["To"] = Address(one_line(name), local, domain)
    if reply_to:
        mail["Reply-To"] = Address("", *reply_to.split("@"))
    mail["Subject"] = one_line(subject)
    mail["Date"] = format_datetime(datetime.fromisoformat(at))
    mail["Message-ID"] = f"<{mark}@gatepost.invalid>"
    mail.set_content(body)
    safe = re.sub(r"[^A-Za-z0-9-]+", "-", local)[:40]
    return f"{at[:10]}-{safe}-{mark}.eml", mail.as_bytes()
