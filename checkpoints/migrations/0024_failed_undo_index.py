"""An index over the undos that failed, by their effect: few rows however long the log."""

from django.db import migrations

NAME = "gp_event_failed_undo"
COLUMNS = "gp_event (thread_id, (data ->> 'activity'), seq) WHERE kind = 'compensation.failed'"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0023_verdict_index")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]
