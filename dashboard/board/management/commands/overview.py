"""`./manage.py overview`: figures over time, as tables, JSON or CSV."""

from __future__ import annotations

from django.core.management.base import CommandParser

from dashboard.board.overview.choices import CHOICES
from dashboard.board.overview.verbs import show_overview
from dashboard.kit.filters import add_options
from dashboard.kit.terminal.console import PersonalCommand, Usage, add_common_arguments


class Command(PersonalCommand):
    """The overview."""

    help = "Shows figures over time: threads, waits, decisions, failures, cost."
    examples = """
        overview --period 30d
        overview --figure outcomes --agent payments
        overview --figure spending --from 2026-11-01 --to 2026-11-30 --csv
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """The period, an agent, one figure."""
        add_options(parser, CHOICES)
        parser.add_argument("--csv", action="store_true", help="one figure as CSV")
        add_common_arguments(parser)

    def act(self) -> None:
        """Show them."""
        if self.options["csv"] and not self.options["figure"]:
            raise Usage("--csv", "needs --figure")
        show_overview(self)
