"""`./manage.py device ...`: browsers that take messages by web push."""

from __future__ import annotations

from dashboard.administration.devices import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Devices that take web push."""

    help = "Lists and removes your devices that take messages by web push."
    examples = """
        device list --as ada
        device remove ID --as ada
    """
    verbs = VERBS
