"""News of threads that an agent elsewhere could take: looked for before it is written again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_origins")]
    operations = [
        migrations.AddIndex(
            "news",
            models.Index(
                condition=models.Q(("kind", "thread.work_waiting")),
                fields=["thread_id", "at"],
                name="outbox_work_waiting",
            ),
        ),
    ]
