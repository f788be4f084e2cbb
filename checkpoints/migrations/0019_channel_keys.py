"""Data keys of encrypted channels, one for each thread that has some."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0018_required_factors")]
    operations = [
        migrations.CreateModel(
            name="ChannelKey",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("key", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={"db_table": "gp_channel_key"},
        ),
    ]
