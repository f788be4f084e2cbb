"""Make the index over notable events anew, with signals among them.

The former one is read until the new one is whole. An attempt that was cut short begins again.
"""

from django.db import migrations

FORMER, NEW = "gp_event_notable", "gp_event_notable_new"
CREATE = f"""
CREATE INDEX CONCURRENTLY {NEW} ON gp_event (workspace_id, at, thread_id, seq)
WHERE kind IN ('approval.requested', 'approval.decided', 'approval.withdrawn',
  'approval.expired', 'approval.settled', 'approval.escalated', 'approval.reminded',
  'approval.replied', 'decision.recorded', 'decision.taken_back', 'decision.refused',
  'operation.done', 'operation.failed', 'thread.started', 'thread.forked', 'thread.paused',
  'thread.resumed', 'thread.retried', 'thread.succeeded', 'thread.failed', 'thread.cancelled',
  'thread.parked', 'thread.imported', 'thread.handed_off', 'state.edited', 'rollback.started',
  'rollback.retried', 'rollback.finished', 'rollback.run_on', 'input.received',
  'signal.received', 'effect.started', 'effect.finished', 'effect.failed', 'effect.settled',
  'compensation.started', 'compensation.finished', 'compensation.failed', 'pause.requested',
  'code.changed', 'code.pinned', 'code.unpinned', 'checkpoint.skipped', 'node.skipped')
"""
STATEMENTS = (
    f"DROP INDEX CONCURRENTLY IF EXISTS {NEW}",
    CREATE,
    f"DROP INDEX CONCURRENTLY IF EXISTS {FORMER}",
    f"ALTER INDEX {NEW} RENAME TO {FORMER}",
)


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0004_figures_by_hour")]
    operations = [migrations.RunSQL([*STATEMENTS], migrations.RunSQL.noop)]
