"""`./manage.py subscription ...`: who gets what news of incidents, and when not."""

from __future__ import annotations

from dashboard.administration.subscriptions import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Subscriptions to incidents."""

    help = "Creates and changes subscriptions to incidents, and quiet hours."
    examples = """
        subscription list --as ada
        subscription create --endpoint mail --kind thread.failed --as ada
        subscription quiet --hours 22:00-07:00 --zone Europe/Berlin --as ada
    """
    verbs = VERBS
