"""Check that the bank of the agent `payments` answers."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from agents.payments import bank

from .findings import Finding, Seen, note, ok

SECONDS = 3.0


def answers(_seen: Seen) -> Iterator[Finding]:
    """A note where none does: only the threads of one agent need it."""
    url = settings.GATEPOST_BANK_URL
    try:
        bank.health(url, SECONDS)
    except (bank.BankAway, bank.BankSilent, bank.BankRefused) as error:
        yield note(
            "bank",
            str(error).partition(". ")[0].partition(";")[0],
            "Threads of `payments` fail without one: set GATEPOST_BANK_URL, or start with a demo.",
        )
    else:
        yield ok("bank", url)
