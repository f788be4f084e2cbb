"""Which thread the spans of a trace or of a conversation belong to."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0010_span_exports")]
    operations = [
        migrations.CreateModel(
            name="Watched",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id",
                        "key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("key", models.CharField(max_length=250)),
                ("thread_id", models.UUIDField()),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_watched"},
        ),
    ]
