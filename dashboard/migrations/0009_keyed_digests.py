"""What the body of a call under an Idempotency-Key is known by; changes no column."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0008_passkeys")]

    operations = [
        migrations.AlterField(
            "idempotencykey",
            "body_hash",
            models.BinaryField(help_text="keyed digest of the canonical body"),
        ),
    ]
