"""An index over the searchable values of threads, which the board's query looks for."""

from django.db import migrations

NAME = "gp_thread_searchable"
COLUMNS = "gp_thread USING gin (searchable jsonb_path_ops) WHERE searchable IS NOT NULL"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0021_searchable")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]
