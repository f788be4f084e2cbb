"""`./manage.py changepassword`: Django's own, with an event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from dashboard.commands.logins import logged


class Command(changepassword.Command):
    """Stands before Django's by the order of INSTALLED_APPS."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """As Django does it; the workspace's log tells of it, never of the password."""
        with logged("command:changepassword"):
            return super().handle(*args, **options)
