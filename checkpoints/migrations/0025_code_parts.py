"""What the code of an agent version consists of, so that a change can be shown by function."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0024_graph_words")]
    operations = [
        migrations.AddField(
            "agentversion",
            "code",
            models.JSONField(
                null=True, help_text="{parts: [{file, name, digest, text}], packages, former}"
            ),
        ),
    ]
