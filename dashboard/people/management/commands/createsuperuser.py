"""`./manage.py createsuperuser`: Django's own, with an event."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management import CommandError, CommandParser

from dashboard.errors import Invalid
from dashboard.kit.terminal.console import add_place_argument
from dashboard.people.django_commands import logged


class Command(createsuperuser.Command):
    """Stands before Django's by the order of INSTALLED_APPS."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's, and the data folder as for all commands."""
        super().add_arguments(parser)
        add_place_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """As Django does it; the workspace's log records it."""
        try:
            with logged("command:createsuperuser"):
                super().handle(*args, **options)
        except Invalid as error:
            raise CommandError(f"The username {error.reason}.") from None
