"""The tables of the ground floor, and beside them their functions, triggers and indexes in SQL."""

from pathlib import Path

from django.db import migrations


def run_files(migration: str, *names: str) -> list[migrations.RunSQL]:
    """Run SQL files of the folder `schema` beside a migration, in this order."""
    folder = Path(migration).with_name("schema")
    return [
        migrations.RunSQL((folder / f"{name}.sql").read_text(), migrations.RunSQL.noop)
        for name in names
    ]
