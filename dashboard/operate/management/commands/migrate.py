"""`./manage.py migrate`: Django's command, which refuses what it would migrate wrongly."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections

from dashboard.operate import migration_history


class Command(migrate.Command):
    """Refuse before Django would leave out an app or stumble over its dependencies."""

    def handle(self, *args: Any, **options: Any) -> None:
        missing = migration_history.missing_former(connections[options["database"]])
        if missing:
            named = migration_history.describe_missing(missing)
            raise CommandError(f"In this database {named}. {migration_history.describe_way()}")
        super().handle(*args, **options)
