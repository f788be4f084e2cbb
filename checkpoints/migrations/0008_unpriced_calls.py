"""An index over the few calls whose price nobody knows, so that a thread can say how many it has."""

from django.db import migrations


class Migration(migrations.Migration):
    # Concurrently: the log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0007_successors")]
    operations = [
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS gp_activity_unpriced", migrations.RunSQL.noop
        ),
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY gp_activity_unpriced ON gp_activity (thread_id) "
            "WHERE usage ? 'unpriced'",
            "DROP INDEX CONCURRENTLY IF EXISTS gp_activity_unpriced",
        ),
    ]
