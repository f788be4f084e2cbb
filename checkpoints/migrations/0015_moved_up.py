"""Since when a queued thread is the next of its workspace, because a person moved it up.

An attempt that was cut short begins again.
"""

from django.db import migrations, models

NAME = "gp_thread_moved_up"
STATEMENTS = (
    "ALTER TABLE gp_thread ADD COLUMN IF NOT EXISTS moved_up_at timestamp with time zone NULL",
    f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
    f"CREATE INDEX CONCURRENTLY {NAME} ON gp_thread (queue, workspace_id, moved_up_at DESC) "
    "WHERE moved_up_at >= status_since AND status = 'queued'",
)


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0014_turns_of_workspaces")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL([statement], migrations.RunSQL.noop) for statement in STATEMENTS
            ],
            state_operations=[
                migrations.AddField("thread", "moved_up_at", models.DateTimeField(null=True)),
                migrations.AddIndex(
                    "thread",
                    models.Index(
                        condition=models.Q(
                            ("moved_up_at__gte", models.F("status_since")), ("status", "queued")
                        ),
                        fields=["queue", "workspace", "-moved_up_at"],
                        name=NAME,
                    ),
                ),
            ],
        )
    ]
