"""`./manage.py view ...`: boards and questions to the record under a name."""

from __future__ import annotations

from dashboard.board.saved_views.verbs import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Saved views of the board and the records."""

    help = "Saves boards and questions to the record under a name, for yourself or the workspace."
    examples = """
        view list --as ada
        view save "My failed" --address "status=failed&q=agent:payments" --as ada
        view save "ACME approved" --records --address "payee=ACME&decision=approve" --as ada
        view change "My failed" --shared --as ada
    """
    verbs = VERBS
