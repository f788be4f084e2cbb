"""Values of searchable channels in the row of their thread."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0020_title_words")]
    operations = [
        migrations.AddField(
            model_name="thread",
            name="searchable",
            field=models.JSONField(help_text="{channel: value} of searchable channels", null=True),
        ),
    ]
