"""An index over the events that end a fault, by thread: what a resume has spared stands in them."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_event_saved"
# Repeats checkpoints.queries.savings.RESUMING; a test compares the two.
CREATE = """
CREATE INDEX CONCURRENTLY gp_event_saved ON gp_event (workspace_id, thread_id, seq)
  WHERE kind IN ('lease.taken_over', 'thread.retried')
"""


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0012_contents")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]
