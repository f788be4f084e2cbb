"""`./manage.py threads ...`: look at threads and control them from a terminal."""

from dashboard.commands.terminal.console import VerbsCommand
from dashboard.commands.threads.changes import CHANGING
from dashboard.commands.threads.control import DOING
from dashboard.commands.threads.many import MANY
from dashboard.commands.threads.reads import LOOKING
from dashboard.commands.threads.reveal import REVEALING
from dashboard.commands.threads.unknown_effects import SETTLING


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
