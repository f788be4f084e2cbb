"""`./manage.py policy ...`: look at policies, try them against the past, change them."""

from dashboard.administration.policy_verbs import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Policies."""

    help = "Shows, tries and changes policies."
    examples = """
        policy list
        policy show Mails --json
        policy try 'tool == "mail"'
    """
    verbs = VERBS
