"""`./manage.py endpoint ...`: the mails, chats and webhooks that are sent news."""

from __future__ import annotations

from dashboard.administration.endpoints import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Endpoints of notifications."""

    help = "Creates and changes the endpoints of notifications."
    examples = """
        endpoint list
        endpoint create email reviewers
        endpoint create webhook ci --target https://ci.example.com/hook
        endpoint rotate ci --keep 24h
        endpoint test ci
    """
    verbs = VERBS
