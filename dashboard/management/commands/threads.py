"""`./manage.py threads ...`: look at threads and control them from a terminal."""

from dashboard.commands.changing import CHANGING
from dashboard.commands.doing import DOING
from dashboard.commands.looking import LOOKING
from dashboard.commands.settling import SETTLING
from dashboard.terminal import VerbsCommand


class Command(VerbsCommand):
    """One verb per subcommand; each that changes says afterwards where the thread stands."""

    help = "Looks at threads, starts and controls them."
    examples = """
        threads list
        threads show demo-flights
        threads events demo-flights --follow
        threads rollback --help
    """
    verbs = (*LOOKING, *DOING, *SETTLING, *CHANGING)
