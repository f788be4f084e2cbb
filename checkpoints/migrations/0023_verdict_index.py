"""An index over verdicts by their time: a search for one that few gave looks at no others."""

from importlib import import_module

from django.db import migrations

NAME = "gp_event_verdicts"
DECISIONS = import_module("checkpoints.migrations.0015_event_times").DECISIONS
_LISTED = ", ".join(f"'{kind}'" for kind in DECISIONS)
COLUMNS = (
    "gp_event (workspace_id, (data ->> 'verdict'), at, thread_id, seq) "
    f"WHERE kind IN ({_LISTED})"
)


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0022_searchable_index")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]
