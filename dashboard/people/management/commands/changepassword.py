"""`./manage.py changepassword`: Django's own, with an event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.core.management import CommandParser

from dashboard.kit.terminal.console import add_place_argument
from dashboard.people.django_commands import logged


class Command(changepassword.Command):
    """Stands before Django's by the order of INSTALLED_APPS."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's, and the data folder as for all commands."""
        super().add_arguments(parser)
        add_place_argument(parser)

    def handle(self, *args: Any, **options: Any) -> str | None:
        """As Django does it; the workspace's log records it, never the password."""
        with logged("command:changepassword"):
            return super().handle(*args, **options)
