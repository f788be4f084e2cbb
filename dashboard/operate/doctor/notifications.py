"""Check notifications: the outbox, the endpoints, the mail server that they need."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from approvals.notify import queries
from dashboard.wording.text import plain, span

from .findings import Finding, Seen, note, ok, warning, wrong

LATE, VERY_LATE = 30.0, 600.0


def outbox(seen: Seen) -> Iterator[Finding]:
    """News is taken out soon, and what it became of is sent soon."""
    lag = queries.lag()
    late = max(lag.news_seconds, lag.delivery_seconds)
    shown = f"{lag.news} news and {lag.deliveries} deliveries due, the first for {span(late)}"
    do = "Start a worker: it sends them; if one works, its log says why it does not."
    if late > VERY_LATE:
        yield wrong("outbox", shown, do)
    elif late > LATE:
        yield warning("outbox", shown, do)
    else:
        yield ok("outbox", "nothing is late")


def endpoints(seen: Seen) -> Iterator[Finding]:
    """Report endpoints whose notifications do not arrive, with the last error."""
    result = queries.troubled()
    for row in result:
        shown = f"{row.late} tried again, {row.failed} failed in 7 days: {row.last_error}"
        yield (wrong if row.failed else warning)(
            f"endpoint {plain(row.name)}",
            shown,
            "Look at it in the Records under Endpoints, fix it and send a test message.",
        )
    if not result:
        yield ok("endpoints", "all messages arrive")


def mail(seen: Seen) -> Iterator[Finding]:
    """Mail endpoints need a server and links that lead here."""
    if not queries.mails():
        yield note("mail", "no endpoint sends mail")
    elif settings.MAILERS["default"]["BACKEND"].endswith("dummy.EmailBackend"):
        yield wrong("mail", "endpoints want mail, and there is no server", "Set EMAIL_URL.")
    elif seen.exposed and settings.GATEPOST_BASE_URL.startswith("http://"):
        yield warning(
            "mail",
            f"links lead to {settings.GATEPOST_BASE_URL}",
            "Set GATEPOST_BASE_URL to the address that people open, with https.",
        )
    else:
        yield ok("mail", f"links lead to {settings.GATEPOST_BASE_URL}")
