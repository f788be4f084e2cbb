"""Saved views of the board."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0002_mcp_servers")]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                (
                    "owner",
                    models.CharField(help_text="a person, such as user:7", max_length=200),
                ),
                ("name", models.CharField(max_length=60)),
                ("address", models.TextField()),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "verbose_name": "saved view",
                "db_table": "gp_saved_view",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace_id", "owner", "name"), name="gp_saved_view_name"
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("shared", True)),
                        fields=["workspace_id", "name"],
                        name="gp_saved_view_shared",
                    ),
                ],
            },
        ),
    ]
