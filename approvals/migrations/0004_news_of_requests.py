"""News of one request: a report says who was notified, however many were sent since."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_waiting_work")]
    operations = [
        migrations.AddIndex(
            "news",
            models.Index(
                condition=models.Q(("approval_id__isnull", False)),
                fields=["approval_id"],
                name="outbox_of_request",
            ),
        ),
    ]
