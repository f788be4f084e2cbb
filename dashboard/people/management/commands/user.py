"""`./manage.py user ...`: who belongs to the workspace, with which roles."""

from __future__ import annotations

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.people.user_verbs import VERBS


class Command(VerbsCommand):
    """People and roles."""

    help = "Makes users, gives and takes roles, keeps people out."
    examples = """
        user list
        user create ada --role operator
        user roles ada operator,reviewer
        user disable ada
    """
    verbs = VERBS
