"""Breakers: threads of a selection that nobody may work on until they are released."""

import uuid_utils.compat
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0012_stuck")]
    operations = [
        migrations.CreateModel(
            name="Breaker",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                (
                    "selection",
                    models.JSONField(
                        default=dict, help_text="what the board's filter says; {}: all"
                    ),
                ),
                ("reason", models.TextField()),
                ("opened_by", models.CharField(max_length=200)),
                ("opened_at", models.DateTimeField(db_default=Now())),
                ("released_to", models.BigIntegerField(db_default=0)),
                ("releases", models.IntegerField(db_default=0)),
                ("released_at", models.DateTimeField(help_text="the newest release", null=True)),
                (
                    "released_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("closed_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "gp_breaker",
                "indexes": [
                    models.Index(
                        condition=models.Q(("closed_at", None)),
                        fields=["workspace_id"],
                        name="gp_breaker_open",
                    ),
                    models.Index(
                        fields=["workspace_id", "-opened_at", "-id"], name="gp_breaker_newest"
                    ),
                ],
            },
        ),
    ]
