"""`./manage.py erase ...`: erase the content of threads, with a second person; legal holds."""

from __future__ import annotations

from dashboard.commands.audit.erasure import VERBS
from dashboard.commands.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """Erasure."""

    help = (
        "Erases the content of threads and keeps the proof. One person requests it, another one "
        "approves; a legal hold forbids it."
    )
    examples = """
        erase preview 01a2f0c3 --scope family
        erase request 01a2f0c3 --reason "consent withdrawn" --yes
        erase approve ID --as admin --yes
        erase hold 01a2f0c3 --reason "case 17"
    """
    verbs = VERBS
