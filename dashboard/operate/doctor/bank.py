"""Check that the bank of the agent `payments` answers."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from dashboard.configuration.import_path import agents_folder

from .findings import Finding, Seen, note, ok

SECONDS = 3.0


def answers(_seen: Seen) -> Iterator[Finding]:
    """A note where none does: only the threads of one agent need it."""
    if agents_folder() is None:
        yield ok("bank", "none needed: the agents that ship (gatepost-agents) are not installed")
        return
    from gatepost_agents.payments import bank

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
