"""Erasure of what requests hold, and guards of the logs that let it pass."""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).with_name("schema")


class Migration(migrations.Migration):
    dependencies = [("approvals", "0005_incidents"), ("checkpoints", "0016_erasure")]
    operations = [
        migrations.AddIndex(
            "news", models.Index(fields=["thread_id"], name="gp_outbox_thread")
        ),
        migrations.RunSQL((SCHEMA / "erasure.sql").read_text(), migrations.RunSQL.noop),
    ]
