"""`./manage.py breaker ...`: stop many threads at once, and release them."""

from __future__ import annotations

from dashboard.commands.fleet.breakers import VERBS
from dashboard.commands.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Breakers."""

    help = "Stops all threads or a selection, and releases them."
    examples = """
        breaker trip --reason "prices are wrong" --agent payments
        breaker list
        breaker release ID --reason "try a few" --number 5
        breaker release ID --reason "prices are right"
    """
    verbs = VERBS
