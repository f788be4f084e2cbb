"""Who works here: tenants, the roles of their people, and a log of each tenant's own."""

from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # The tenant; every row of the product belongs to one. Its own log says who may do what.
    migrations.CreateModel(
        name="Workspace",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("name", models.CharField(max_length=100, unique=True)),
            ("created_at", models.DateTimeField(db_default=Now())),
            (
                "chain_id",
                models.UUIDField(db_default=RandomUUID(), editable=False),
            ),
            ("last_seq", models.BigIntegerField(db_default=0)),
            (
                "last_hash",
                models.BinaryField(
                    db_default=models.Value(
                        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
                    )
                ),
            ),
            ("prev_hash", models.BinaryField(db_default=models.Value(b""))),
            ("last_at", models.DateTimeField(db_default=Now())),
            (
                "second_factor_roles",
                models.JSONField(
                    db_default=models.Value([], models.JSONField()),
                    default=list,
                    help_text="roles that need a second factor beside a password",
                ),
            ),
        ],
        options={
            "db_table": "gp_workspace",
        },
    ),
    # One role of one user in one workspace; rights are rows, so withdrawing one is immediate.
    migrations.CreateModel(
        name="Membership",
        fields=[
            (
                "id",
                models.BigAutoField(
                    auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
            (
                "user",
                models.ForeignKey(
                    on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                ),
            ),
            (
                "role",
                models.CharField(
                    choices=[
                        ("viewer", "viewer"),
                        ("operator", "operator"),
                        ("reviewer", "reviewer"),
                        ("auditor", "auditor"),
                        ("admin", "admin"),
                    ],
                    max_length=20,
                ),
            ),
        ],
        options={
            "db_table": "gp_membership",
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace", "user", "role"), name="gp_member_once"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("role__in", ("viewer", "operator", "reviewer", "auditor", "admin"))
                    ),
                    name="gp_member_role",
                ),
            ],
        },
    ),
    # One immutable entry of a workspace's log: who belongs to it and who was given which right.
    migrations.CreateModel(
        name="WorkspaceEvent",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "seq",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
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
            ("seq", models.BigIntegerField()),
            ("kind", models.CharField(max_length=50)),
            ("v", models.SmallIntegerField(default=1)),
            ("actor", models.CharField(max_length=200)),
            ("data", models.JSONField()),
            ("salt", models.BinaryField()),
            ("data_hash", models.BinaryField()),
            ("at", models.DateTimeField()),
            ("prev_hash", models.BinaryField()),
            ("hash", models.BinaryField()),
        ],
        options={
            "db_table": "gp_workspace_event",
        },
    ),
    # The last verification of a workspace's own log, and of everything in it. `n_verified` events
    # of its threads and its log were verified when everything was, by `completed_at`.
    migrations.CreateModel(
        name="WorkspaceVerification",
        fields=[
            ("n_events", models.BigIntegerField()),
            ("intact", models.BooleanField()),
            ("broken_seq", models.BigIntegerField(null=True)),
            ("what", models.TextField(blank=True, default="")),
            ("checked_by", models.CharField(max_length=200)),
            ("checked_at", models.DateTimeField(db_default=Now())),
            ("checks", models.JSONField(db_default=models.Value([], models.JSONField()))),
            ("found_at", models.DateTimeField(null=True)),
            ("found_by", models.CharField(blank=True, db_default="", max_length=200)),
            (
                "workspace",
                models.OneToOneField(
                    db_constraint=False,
                    on_delete=models.DO_NOTHING,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="checkpoints.workspace",
                ),
            ),
            ("n_verified", models.BigIntegerField(db_default=0)),
            ("completed_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_workspace_verification",
        },
    ),
)
