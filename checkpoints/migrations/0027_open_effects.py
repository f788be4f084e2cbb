"""An index over the effects that began and are not settled: few rows however long the thread."""

from django.db import migrations

NAME = "gp_activity_open"
COLUMNS = "gp_activity (thread_id) WHERE kind = 'effect' AND state = 'started'"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0026_login_index")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]
