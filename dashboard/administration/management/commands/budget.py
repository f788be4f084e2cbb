"""`./manage.py budget ...`: what may be spent in a month."""

from __future__ import annotations

from dashboard.administration.budgets import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Budgets."""

    help = "Shows and sets budgets by month."
    examples = """
        budget list
        budget set workspace --cost 500
        budget set team growth --tokens 2000000 --stop
        budget off team growth
    """
    verbs = VERBS
