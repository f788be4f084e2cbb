"""`./manage.py record ...`: ask the record, take answers away, read the report on a decision."""

from __future__ import annotations

from dashboard.commands.audit.records import VERBS
from dashboard.commands.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """The record."""

    help = "Searches the record across threads, exports it with its proof, reports on decisions."
    examples = """
        record search --q "ACME" --decision approve
        record export --to audit --since 2026-11-01 --until 2026-11-30 --form csv
        record report ID --to decision.html
    """
    verbs = VERBS
