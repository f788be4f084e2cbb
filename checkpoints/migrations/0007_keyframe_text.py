"""Keyframes as text: a cache that is read whole, and jsonb is spelt out anew on each read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0006_verification")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    "ALTER TABLE gp_keyframe ALTER state TYPE text USING state::text",
                    "ALTER TABLE gp_keyframe ALTER state TYPE jsonb USING state::jsonb",
                )
            ],
            [migrations.AlterField("keyframe", "state", models.TextField())],
        )
    ]
