"""Which migrations a database has had, where several former ones were replaced by one.

Django takes a database that has all the replaced ones as migrated. One that has only some of them
can only continue with the code that still holds the others. The schema of an app kept its name when
more were added to it, so its own name counts as one of them.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# The last commit that holds each former migration by itself.
LAST_FORMER_COMMIT = "2655df41"
NAMED = 3


def missing_former(database: BaseDatabaseWrapper) -> list[str]:
    """List the replaced migrations that this database lacks although it has others of their set."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    applied = MigrationRecorder(database).applied_migrations()
    missing: list[str] = []
    for own, migration in loader.disk_migrations.items():
        if applied.keys() & {own, *migration.replaces}:
            missing += [".".join(key) for key in migration.replaces if key not in applied]
    return missing


def describe_missing(missing: list[str]) -> str:
    """Name the missing migrations, the first few by name."""
    more = f" and {len(missing) - NAMED} more" * (len(missing) > NAMED)
    return f"former migrations are missing: {', '.join(missing[:NAMED])}{more}"


def describe_way() -> str:
    """Say how such a database gets its missing migrations."""
    return (
        f"Install commit {LAST_FORMER_COMMIT} of Gatepost, call `./manage.py migrate` there, then "
        "here again."
    )
