"""Sign-ins of people. Logins from before have none and end here: everybody signs in once more."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0003_saved_views"),
        ("sessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SignIn",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("session_key", models.CharField(blank=True, db_index=True, max_length=40)),
                ("method", models.CharField(max_length=20)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("agent", models.CharField(blank=True, max_length=400)),
                ("begun_at", models.DateTimeField(db_default=Now())),
                ("last_seen_at", models.DateTimeField(db_default=Now())),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, default="", max_length=200)),
                ("why", models.CharField(blank=True, default="", max_length=20)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "gp_sign_in"},
        ),
        migrations.RunSQL("DELETE FROM django_session", migrations.RunSQL.noop),
    ]
