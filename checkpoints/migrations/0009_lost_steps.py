"""Make the index over rare events anew, with lost steps among them.

The former one is read until the new one is whole. An attempt that was cut short begins again.
"""

from django.db import migrations

FORMER, NEW = "gp_event_rare", "gp_event_rare_new"
CREATE = f"""
CREATE INDEX CONCURRENTLY {NEW} ON gp_event (kind, workspace_id, thread_id, seq)
WHERE kind IN ('lease.taken_over', 'step.fenced', 'steps.lost', 'thread.retried')
"""
STATEMENTS = (
    f"DROP INDEX CONCURRENTLY IF EXISTS {NEW}",
    CREATE,
    f"DROP INDEX CONCURRENTLY IF EXISTS {FORMER}",
    f"ALTER INDEX {NEW} RENAME TO {FORMER}",
)


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0008_memory")]
    operations = [migrations.RunSQL([*STATEMENTS], migrations.RunSQL.noop)]
