"""What people sign in with, and what waits for a second admin."""

from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # The right to call the API as a user, in one workspace, narrowed to scopes.
    migrations.CreateModel(
        name="Token",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("prefix", models.CharField(max_length=8, unique=True)),
            ("secret_hash", models.BinaryField(help_text="sha256 of the secret part", unique=True)),
            ("name", models.CharField(blank=True, max_length=100)),
            ("scopes", models.JSONField(default=list)),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("expires_at", models.DateTimeField(null=True)),
            ("last_used_at", models.DateTimeField(null=True)),
            ("revoked_at", models.DateTimeField(null=True)),
            ("revoked_by", models.CharField(blank=True, default="", max_length=200)),
            (
                "user",
                models.ForeignKey(
                    on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "workspace",
                models.ForeignKey(
                    db_index=False,
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
    # A login of a person: by which method, device and address, when it began and was last seen.
    migrations.CreateModel(
        name="SignIn",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
                    on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
        ],
        options={
            "db_table": "gp_sign_in",
        },
    ),
    # An account that a directory outside speaks for: its name for itself and for the person.
    migrations.CreateModel(
        name="Identity",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("provider", models.CharField(max_length=500)),
            ("subject", models.CharField(max_length=255)),
            ("created_at", models.DateTimeField(db_default=Now())),
            (
                "user",
                models.ForeignKey(
                    db_index=False,
                    on_delete=models.CASCADE,
                    related_name="+",
                    to=settings.AUTH_USER_MODEL,
                ),
            ),
        ],
        options={
            "verbose_name_plural": "identities",
            "db_table": "gp_identity",
            "constraints": [
                models.UniqueConstraint(fields=("provider", "subject"), name="gp_identity_subject"),
                models.UniqueConstraint(fields=("user", "provider"), name="gp_identity_user"),
            ],
        },
    ),
    # The second factor of a person: codes of an app, or each recovery code once.
    migrations.CreateModel(
        name="SecondFactor",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("secret", models.TextField()),
            ("recovery", models.JSONField(default=list)),
            ("last_period", models.BigIntegerField()),
            ("added_at", models.DateTimeField(db_default=Now())),
            (
                "user",
                models.OneToOneField(
                    on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
        ],
        options={
            "db_table": "gp_second_factor",
        },
    ),
    # A passkey of a person: the public key of an authenticator that verifies who uses it.
    migrations.CreateModel(
        name="Passkey",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
                    on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
        ],
        options={
            "db_table": "gp_passkey",
        },
    ),
    # A change of what a person may do that waits for a second admin; rows stay when it ended.
    migrations.CreateModel(
        name="AccessChange",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("action", models.CharField(max_length=40)),
            ("user_id", models.BigIntegerField(null=True)),
            ("name", models.CharField(max_length=150)),
            ("gives", models.JSONField()),
            ("change", models.TextField(blank=True)),
            ("asked_by", models.CharField(max_length=200)),
            ("asked_at", models.DateTimeField(db_default=Now())),
            ("expires_at", models.DateTimeField()),
            ("state", models.CharField(db_default="waiting", max_length=20)),
            ("decided_by", models.CharField(blank=True, db_default="", max_length=200)),
            ("decided_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_access_change",
            "indexes": [
                models.Index(fields=["workspace_id", "state"], name="gp_access_change_waits")
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("state__in", ("waiting", "confirmed", "refused", "expired"))
                    ),
                    name="gp_access_change_state",
                )
            ],
        },
    ),
)
