"""What memories mean, as vectors; those that are there wait for theirs."""

from django.db import migrations, models

FILL = """
INSERT INTO gp_memory_vector (memory_id, workspace_id, revision, gone, xid)
SELECT m.id, m.workspace_id, m.revision, m.gone_at IS NOT NULL,
  pg_current_xact_id()::text::bigint FROM gp_memory m
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0012_memory_items")]
    operations = [
        migrations.CreateModel(
            name="MemoryVector",
            fields=[
                ("memory_id", models.UUIDField(primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("revision", models.IntegerField(db_default=1)),
                ("model", models.CharField(blank=True, db_default="", max_length=300)),
                ("vector", models.BinaryField(null=True)),
                ("gone", models.BooleanField(db_default=False)),
                ("xid", models.BigIntegerField()),
                ("stored_in", models.CharField(blank=True, db_default="", max_length=300)),
            ],
            options={
                "db_table": "gp_memory_vector",
                "indexes": [
                    models.Index(fields=["workspace_id", "xid"], name="gp_memory_vector_feed"),
                    models.Index(
                        condition=models.Q(("gone", False)),
                        fields=["model", "memory_id"],
                        name="gp_memory_vector_model",
                    ),
                    models.Index(
                        fields=["stored_in", "memory_id"], name="gp_memory_vector_store"
                    ),
                ],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
