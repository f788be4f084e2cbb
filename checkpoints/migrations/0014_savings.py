"""An index over the events that end a fault, by thread: what a resume has spared stands in them."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_event_saved"
# What ends a fault; 0019 has it in one index with others.
CREATE = """
CREATE INDEX CONCURRENTLY gp_event_saved ON gp_event (workspace_id, thread_id, seq)
  WHERE kind IN ('lease.taken_over', 'thread.retried')
"""


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0013_backoffs")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]
