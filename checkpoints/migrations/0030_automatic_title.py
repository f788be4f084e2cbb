"""Whether a thread's title is automatic, so that its agent may replace it; former ones are kept."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0029_thread_terms")]
    operations = [
        migrations.AddField(
            model_name="thread",
            name="automatic_title",
            field=models.BooleanField(
                db_default=False, help_text="nobody gave the title: the agent may replace it"
            ),
        ),
    ]
