"""One index over the rare events that monitoring and savings read, in the place of two.

Each event that is written looks at every partial index, and nearly none is in these.
"""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_event_rare"
# Repeats FAULTS and RESUMING of checkpoints.queries; a test compares them.
CREATE = """
CREATE INDEX CONCURRENTLY gp_event_rare ON gp_event (kind, workspace_id, thread_id, seq)
  WHERE kind IN ('lease.taken_over', 'step.fenced', 'thread.retried')
"""
FORMER = {
    "DROP INDEX CONCURRENTLY IF EXISTS gp_event_faults": """
CREATE INDEX CONCURRENTLY gp_event_faults ON gp_event (kind)
  WHERE kind IN ('lease.taken_over', 'step.fenced')
""",
    "DROP INDEX CONCURRENTLY IF EXISTS gp_event_saved": """
CREATE INDEX CONCURRENTLY gp_event_saved ON gp_event (workspace_id, thread_id, seq)
  WHERE kind IN ('lease.taken_over', 'thread.retried')
""",
}


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0018_forks_of_forks")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
        *[migrations.RunSQL(drop, create) for drop, create in FORMER.items()],
    ]
