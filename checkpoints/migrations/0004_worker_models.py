"""Which model a worker would ask, per agent: threads keep the one that was deployed at their start."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0003_effects_by_time")]
    operations = [
        migrations.AddField(
            "worker",
            "models",
            models.JSONField(
                db_default={}, default=dict, help_text="by agent and workspace (its name, or empty)"
            ),
        ),
    ]
