"""Passkeys: authenticators that verify who uses them, beside an authenticator app."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0007_record_views"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Passkey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("name", models.CharField(max_length=60)),
                ("credential_id", models.BinaryField(unique=True)),
                ("credential", models.BinaryField()),
                ("sign_count", models.BigIntegerField(default=0)),
                ("last_challenge", models.BinaryField(null=True)),
                ("added_at", models.DateTimeField(db_default=Now())),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "gp_passkey"},
        ),
    ]
