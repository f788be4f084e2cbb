"""`./manage.py workspace ...`: the workspaces of this installation, and their names."""

from __future__ import annotations

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.people.workspace_verbs import VERBS


class Command(VerbsCommand):
    """Workspaces."""

    help = "Lists, makes and renames workspaces."
    examples = """
        workspace list --as ada
        workspace create payments --admin ada
        workspace rename accounts-payable --as ada
    """
    verbs = VERBS
