"""`./manage.py view ...`: boards under a name."""

from __future__ import annotations

from dashboard.commands.fleet.views import VERBS
from dashboard.commands.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Saved views of the board."""

    help = "Saves boards under a name, for yourself or for the workspace."
    examples = """
        view list --as ada
        view save "My failed" --address "status=failed&q=agent:payments" --as ada
        view change "My failed" --shared --as ada
    """
    verbs = VERBS
