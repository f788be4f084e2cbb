"""Tokens of people and programs, and calls that were answered once (idempotency keys)."""

from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("checkpoints", "0001_schema"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("user_id", models.BigIntegerField()),
                ("key", models.CharField(max_length=255)),
                ("call", models.CharField(help_text="method and path", max_length=400)),
                ("body_hash", models.BinaryField(help_text="sha256 of the canonical body")),
                ("status", models.SmallIntegerField(default=0)),
                ("headers", models.JSONField(default=dict)),
                (
                    "answer",
                    models.TextField(default="", help_text="the JSON text that was answered"),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=Now()),
                ),
            ],
            options={
                "db_table": "gp_idempotency_key",
                "indexes": [models.Index(fields=["created_at"], name="gp_idempotency_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace_id", "user_id", "key"), name="gp_idempotency_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("prefix", models.CharField(max_length=8, unique=True)),
                (
                    "secret_hash",
                    models.BinaryField(help_text="sha256 of the secret part", unique=True),
                ),
                ("name", models.CharField(blank=True, max_length=100)),
                ("scopes", models.JSONField(default=list)),
                ("made_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=Now()),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(blank=True, default="", max_length=200)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="checkpoints.workspace",
                    ),
                ),
            ],
            options={
                "db_table": "gp_token",
            },
        ),
    ]
