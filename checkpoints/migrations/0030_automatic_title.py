"""The title that a thread's agent may replace, while it is the thread's; former ones are kept."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0029_thread_terms")]
    operations = [
        migrations.AddField(
            model_name="thread",
            name="automatic_title",
            field=models.CharField(
                max_length=300,
                db_default="",
                help_text="the agent may replace the title while it is this",
            ),
        ),
    ]
