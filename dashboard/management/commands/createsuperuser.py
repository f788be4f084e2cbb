"""`./manage.py createsuperuser`: Django's own, with an event."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from dashboard.commands.logins import logged


class Command(createsuperuser.Command):
    """Stands before Django's by the order of INSTALLED_APPS."""

    def handle(self, *args: Any, **options: Any) -> None:
        """As Django does it; the workspace's log tells of it."""
        with logged("command:createsuperuser"):
            super().handle(*args, **options)
