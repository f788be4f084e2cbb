"""`./manage.py retention ...`: how long finished threads stay."""

from __future__ import annotations

from dashboard.administration.retention import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Retention rules."""

    help = "Sets how many days after their end threads are erased, per agent."
    examples = """
        retention set 90 --agent payments --archive --preview
        retention set 90 --agent payments --archive
        retention list
        retention off --agent payments
    """
    verbs = VERBS
