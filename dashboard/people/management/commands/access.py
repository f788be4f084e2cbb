"""`./manage.py access ...`: changes of what people may do that wait for a second admin."""

from __future__ import annotations

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.people.access_decisions import VERBS


class Command(VerbsCommand):
    """Changes of access, decided on the machine itself."""

    help = "Lists, confirms and refuses changes of access where there is no second admin."
    examples = """
        access list --as admin
        access confirm 0197f1c2-6d1e-7a30-9b51-4f0b5a3c2d10 --as admin
    """
    verbs = VERBS
