"""An index over the threads that a board shows first: those that no other thread started."""

from django.db import migrations

NAME = "gp_thread_top"
COLUMNS = (
    "gp_thread (workspace_id, status, status_since DESC, id DESC) "
    "WHERE parent IS NULL OR status = 'attention'"
)


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0008_unpriced_calls")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]
