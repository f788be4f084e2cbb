"""Index the queued threads of a queue by their workspaces, which take turns.

An attempt that was cut short begins again.
"""

from django.db import migrations, models

NAME = "gp_thread_turn"
STATEMENTS = (
    f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
    f"CREATE INDEX CONCURRENTLY {NAME} ON gp_thread (queue, workspace_id, status_since) "
    "WHERE status = 'queued'",
)


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0013_memory_vectors")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL([*STATEMENTS], migrations.RunSQL.noop)],
            state_operations=[
                migrations.AddIndex(
                    "thread",
                    models.Index(
                        condition=models.Q(("status", "queued")),
                        fields=["queue", "workspace", "status_since"],
                        name=NAME,
                    ),
                ),
            ],
        )
    ]
