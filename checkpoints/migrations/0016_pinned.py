"""A thread may be pinned: it waits for a worker that has the very code it stopped with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0015_undo")]
    operations = [
        migrations.AddField(
            "thread",
            "pinned",
            models.BooleanField(db_default=False, help_text="no other code may take it"),
        ),
    ]
