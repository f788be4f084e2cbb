"""Indexes over family trees: the children of a thread, all threads of a tree, news that is due."""

from django.db import migrations

INDEXES = {
    "gp_thread_children": "gp_thread (parent) WHERE parent IS NOT NULL",
    "gp_thread_tree": "gp_thread (root) WHERE root IS NOT NULL",
    "gp_wake_due": "gp_wake (due_at) WHERE kind <> 'input'",
}


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0005_children")]
    operations = [
        operation
        for name, columns in INDEXES.items()
        for operation in (
            migrations.RunSQL(
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop
            ),
            migrations.RunSQL(
                f"CREATE INDEX CONCURRENTLY {name} ON {columns}",
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            ),
        )
    ]
