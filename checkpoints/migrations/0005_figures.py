"""An index over the rare events that monitoring counts: tiny, however long the log."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_event_faults"
# What monitoring counts; 0019 has it in one index with others.
CREATE = """
CREATE INDEX CONCURRENTLY gp_event_faults ON gp_event (kind)
  WHERE kind IN ('lease.taken_over', 'step.fenced')
"""


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0004_workspace_log")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]
