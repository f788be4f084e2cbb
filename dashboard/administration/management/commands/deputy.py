"""`./manage.py deputy ...`: who acts for whom while they are away."""

from __future__ import annotations

from dashboard.administration.deputies import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Deputies of reviewers."""

    help = "Names deputies for reviewers who are away, and hands single requests over."
    examples = """
        deputy list --as ada
        deputy name grace --until 2026-12-15 --reason holiday --as ada
        deputy name grace --until 2026-12-15 --person ada --as admin
    """
    verbs = VERBS
