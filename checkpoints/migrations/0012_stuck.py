"""Usual times of nodes and notes of stuck threads; indexes for filters by agent and label."""

from django.db import migrations, models
from django.db.models.functions import Now

INDEXES = {
    "gp_thread_agent": (
        "gp_thread (workspace_id, agent, status, status_since DESC, id DESC)"
    ),
    "gp_thread_labels": "gp_thread USING gin (labels) WHERE labels <> '{}'::jsonb",
}


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0011_watched")]
    operations = [
        migrations.CreateModel(
            name="NodeTime",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "agent",
                        "node",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("agent", models.CharField(max_length=100)),
                ("node", models.CharField(max_length=100)),
                ("n_steps", models.IntegerField(db_default=0)),
                ("step_p50", models.FloatField(null=True)),
                ("step_p95", models.FloatField(null=True)),
                ("n_waits", models.IntegerField(db_default=0)),
                ("wait_p50", models.FloatField(null=True)),
                ("wait_p95", models.FloatField(null=True)),
                ("learned_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_node_time"},
        ),
        migrations.CreateModel(
            name="Stuck",
            fields=[
                ("thread_id", models.UUIDField(primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("agent", models.CharField(max_length=100)),
                ("node", models.CharField(blank=True, max_length=100)),
                ("rule", models.CharField(max_length=10)),
                ("since", models.DateTimeField()),
                ("reason", models.TextField()),
                ("status_since", models.DateTimeField()),
                ("last_seq", models.BigIntegerField(null=True)),
                ("noted_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "gp_stuck",
                "verbose_name_plural": "stuck threads",
                "indexes": [
                    models.Index(fields=["workspace_id", "agent", "node"], name="gp_stuck_node"),
                    models.Index(fields=["workspace_id", "-noted_at"], name="gp_stuck_noted"),
                ],
            },
        ),
        *(
            migrations.RunSQL(
                [
                    f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                    f"CREATE INDEX CONCURRENTLY {name} ON {columns}",
                ],
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            )
            for name, columns in INDEXES.items()
        ),
    ]
