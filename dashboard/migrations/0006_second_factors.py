"""Second factors: an authenticator app and recovery codes beside a password."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0005_identities"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("secret", models.TextField()),
                ("recovery", models.JSONField(default=list)),
                ("last_period", models.BigIntegerField()),
                ("added_at", models.DateTimeField(db_default=Now())),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "gp_second_factor"},
        ),
    ]
