"""Services that asked everybody to wait: threads about to call them sleep until then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0012_contents")]
    operations = [
        migrations.CreateModel(
            name="Backoff",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("name", models.CharField(max_length=250)),
                ("until", models.DateTimeField()),
                ("said", models.CharField(default="", max_length=250)),
            ],
            options={"db_table": "gp_backoff"},
        ),
    ]
