"""`./manage.py incident ...`: similar problems grouped; taken, snoozed and closed."""

from __future__ import annotations

from dashboard.board.incidents.verbs import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Incidents."""

    help = "Lists incidents, takes, snoozes and closes them."
    examples = """
        incident list
        incident take ID --as ada
        incident snooze ID --for 4h
        incident close ID --reason "known, fixed on Monday"
    """
    verbs = VERBS
