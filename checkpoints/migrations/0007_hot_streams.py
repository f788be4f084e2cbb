"""Note which threads have steps in the hot store, and how far it had acknowledged them."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0006_ephemeral_turns")]
    operations = [
        migrations.CreateModel(
            name="HotStream",
            fields=[
                ("thread_id", models.UUIDField(primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("token", models.UUIDField()),
                ("number", models.IntegerField()),
                ("reported_at", models.DateTimeField(db_default=Now())),
                ("is_cut_off", models.BooleanField(db_default=False)),
            ],
            options={"db_table": "gp_hot_stream"},
        ),
    ]
