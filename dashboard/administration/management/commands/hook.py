"""`./manage.py hook ...`: who outside may carry decisions here, and for whom."""

from __future__ import annotations

from dashboard.administration.hooks import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Inbound hooks."""

    help = "Creates inbound hooks, changes their secrets, maps their names to people."
    examples = """
        hook create slack
        hook map slack U024BE7LH manager
        hook rotate slack --keep 24h
        hook list
    """
    verbs = VERBS
