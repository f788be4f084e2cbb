"""`./manage.py threads ...`: look at threads and control them from a terminal."""

from dashboard.kit.terminal.console import VerbsCommand
from dashboard.threads.changes_command import CHANGING
from dashboard.threads.command import DOING
from dashboard.threads.many_command import MANY
from dashboard.threads.reads_command import LOOKING
from dashboard.threads.reveal_command import REVEALING
from dashboard.threads.settle_command import SETTLING


class Command(VerbsCommand):
    """One verb per subcommand; each that changes says afterwards where the thread stands."""

    help = "Looks at threads, starts and controls them."
    examples = """
        threads list
        threads show demo-flights
        threads events demo-flights --follow
        threads rollback --help
    """
    verbs = (*LOOKING, *REVEALING, *DOING, *MANY, *SETTLING, *CHANGING)
