"""Decisions of people by day, added up once: they never change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_unneeded_indexes")]
    operations = [
        migrations.CreateModel(
            name="DecidedDay",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "day",
                        "agent",
                        "verdict",
                        "person",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("day", models.DateField()),
                ("agent", models.CharField(max_length=100)),
                ("verdict", models.CharField(max_length=10)),
                ("person", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=200)),
                ("n", models.IntegerField()),
                ("waits", models.JSONField()),
            ],
            options={"db_table": "gp_decided_day"},
        ),
        migrations.CreateModel(
            name="DecidedUntil",
            fields=[
                ("workspace_id", models.UUIDField(primary_key=True, serialize=False)),
                ("day", models.DateField()),
            ],
            options={"db_table": "gp_decided_until"},
        ),
    ]
