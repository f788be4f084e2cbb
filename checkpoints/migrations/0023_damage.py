"""Damage of a record is a stored fact: since when, found by whom, cleared by what."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

FILL = """
UPDATE gp_verification v SET workspace_id = th.workspace_id,
  checks = '["records", "files"]',
  found_at = CASE WHEN NOT v.intact THEN v.checked_at END,
  found_by = CASE WHEN NOT v.intact THEN v.checked_by ELSE '' END
FROM gp_thread th WHERE th.id = v.thread_id AND v.workspace_id IS NULL
"""


def _checks() -> models.JSONField:
    return models.JSONField(db_default=models.Value([], models.JSONField()))


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0022_imported_agents")]
    operations = [
        migrations.AddField("verification", "checks", _checks()),
        migrations.AddField("verification", "found_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "verification",
            "found_by",
            models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField("verification", "workspace_id", models.UUIDField(null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            "verification",
            models.Index(
                fields=("workspace_id", "found_at"),
                name="gp_verification_damaged",
                condition=models.Q(intact=False),
            ),
        ),
        migrations.CreateModel(
            name="WorkspaceVerification",
            fields=[
                ("n_events", models.BigIntegerField()),
                ("intact", models.BooleanField()),
                ("broken_seq", models.BigIntegerField(null=True)),
                ("what", models.TextField(blank=True, default="")),
                ("checked_by", models.CharField(max_length=200)),
                ("checked_at", models.DateTimeField(db_default=Now())),
                ("checks", _checks()),
                ("found_at", models.DateTimeField(null=True)),
                ("found_by", models.CharField(blank=True, db_default="", max_length=200)),
                (
                    "workspace",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="checkpoints.workspace",
                    ),
                ),
                ("n_verified", models.BigIntegerField(db_default=0)),
                ("completed_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "gp_workspace_verification"},
        ),
    ]
