"""`./manage.py cap ...`: how much threads may spend before they pause."""

from __future__ import annotations

from dashboard.administration.caps import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Spend caps."""

    help = "Shows and sets spend caps."
    examples = """
        cap list
        cap set thread total 5
        cap set workspace day 250
        cap off thread total
    """
    verbs = VERBS
