"""Inbound hooks: programs outside that carry decisions here."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # A service outside that signs what it sends. `secrets` is a list of {"secret": "whsec_...",
    # "until": ISO time or null}, the newest first; all that have not ended hold. `refused`
    # counts, once a minute at most, what was turned away.
    migrations.CreateModel(
        name="Hook",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("name", models.CharField(max_length=40)),
            ("secrets", models.JSONField(default=list)),
            ("active", models.BooleanField(db_default=True)),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("rotated_at", models.DateTimeField(null=True)),
            ("refused_at", models.DateTimeField(null=True)),
            ("refused", models.BigIntegerField(db_default=0)),
        ],
        options={
            "db_table": "gp_hook",
            "constraints": [
                models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_hook_name")
            ],
        },
    ),
    # What a hook carried here under one id, and what it was answered; never changed.
    migrations.CreateModel(
        name="HookDelivery",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "hook",
                models.ForeignKey(
                    db_index=False, on_delete=models.PROTECT, related_name="+", to="approvals.hook"
                ),
            ),
            ("webhook_id", models.CharField(max_length=255)),
            ("body_hash", models.BinaryField(help_text="keyed digest of the body as it came")),
            ("approval_id", models.UUIDField()),
            ("actor", models.CharField(max_length=200)),
            ("status", models.SmallIntegerField()),
            ("answer", models.TextField(help_text="the JSON text that was answered")),
            ("at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_hook_delivery",
            "constraints": [
                models.UniqueConstraint(fields=("hook", "webhook_id"), name="gp_hook_delivery_once")
            ],
            "verbose_name_plural": "hook deliveries",
        },
    ),
    # Whom a hook's word for a person stands for here; an admin has made sure of it.
    migrations.CreateModel(
        name="HookIdentity",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "hook",
                models.ForeignKey(
                    db_index=False, on_delete=models.PROTECT, related_name="+", to="approvals.hook"
                ),
            ),
            ("identity", models.CharField(max_length=200)),
            ("user_id", models.BigIntegerField()),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("confirmed_by", models.CharField(blank=True, db_default="", max_length=200)),
        ],
        options={
            "db_table": "gp_hook_identity",
            "constraints": [
                models.UniqueConstraint(fields=("hook", "identity"), name="gp_hook_identity_once")
            ],
            "verbose_name": "outside identity",
            "verbose_name_plural": "outside identities",
        },
    ),
)
