"""The position up to which committed events were exported as spans (OpenTelemetry)."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0009_board_index")]
    operations = [
        migrations.CreateModel(
            name="SpanExport",
            fields=[
                ("name", models.CharField(max_length=50, primary_key=True, serialize=False)),
                ("xid", models.BigIntegerField()),
                ("thread_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("sent", models.BigIntegerField(db_default=0)),
                ("dropped", models.BigIntegerField(db_default=0)),
                ("moved_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_span_export"},
        ),
    ]
