"""`./manage.py policy ...`: look at policies, and try a condition against the past."""

from dashboard.commands.policies import POLICY
from dashboard.terminal import VerbsCommand


class Command(VerbsCommand):
    """Reads only; policies are written in the records or through the API."""

    help = "Shows policies, and what a condition would have matched."
    examples = """
        policy list
        policy show Mails --json
        policy try 'tool == "mail"'
    """
    verbs = POLICY
