"""Room for keys of push devices as ciphertext; what a body of a delivery is known by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0007_deputies")]

    operations = [
        migrations.AlterField("pushdevice", "p256dh", models.TextField()),
        migrations.AlterField("pushdevice", "auth", models.TextField()),
        migrations.AlterField(
            "hookdelivery",
            "body_hash",
            models.BinaryField(help_text="keyed digest of the body as it came"),
        ),
    ]
