"""Indexes over the time of events that auditors ask for across threads; steps are in neither.

The kinds repeat DECISIONS and NOTABLE of approvals.records; a test compares.
"""

from django.db import migrations

DECISIONS = (
    "approval.requested",
    "approval.decided",
    "approval.withdrawn",
    "approval.expired",
    "approval.settled",
    "approval.escalated",
    "approval.reminded",
    "approval.replied",
    "decision.recorded",
    "decision.taken_back",
    "decision.refused",
    "operation.done",
    "operation.failed",
)
NOTABLE = (
    *DECISIONS,
    "thread.started",
    "thread.forked",
    "thread.paused",
    "thread.resumed",
    "thread.retried",
    "thread.succeeded",
    "thread.failed",
    "thread.cancelled",
    "thread.parked",
    "thread.imported",
    "thread.handed_off",
    "state.edited",
    "rollback.started",
    "rollback.retried",
    "rollback.finished",
    "rollback.run_on",
    "input.received",
    "effect.started",
    "effect.finished",
    "effect.failed",
    "effect.settled",
    "compensation.started",
    "compensation.finished",
    "compensation.failed",
    "pause.requested",
    "code.changed",
    "code.pinned",
    "code.unpinned",
    "checkpoint.skipped",
    "node.skipped",
)
INDEXES = {"gp_event_decisions": DECISIONS, "gp_event_notable": NOTABLE}


def _make(name: str, kinds: tuple[str, ...]) -> list[migrations.RunSQL]:
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    return [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {name} ON gp_event (workspace_id, at, thread_id, seq) "
            f"WHERE kind IN ({listed})",
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
        ),
    ]


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0014_overview")]
    operations = [operation for name, kinds in INDEXES.items() for operation in _make(name, kinds)]
