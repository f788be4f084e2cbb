"""The outbox, and who is notified of it."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # What has to be told to others, written with the change that it tells of: the outbox.
    # `done_at` is set once everybody who wanted it has a delivery of their own.
    migrations.CreateModel(
        name="News",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("kind", models.CharField(max_length=40)),
            ("thread_id", models.UUIDField(null=True)),
            ("checkpoint_id", models.UUIDField(null=True)),
            ("approval_id", models.UUIDField(null=True)),
            ("data", models.JSONField(default=dict)),
            ("at", models.DateTimeField(db_default=Now())),
            ("done_at", models.DateTimeField(null=True)),
            ("incident_id", models.UUIDField(null=True)),
        ],
        options={
            "db_table": "gp_outbox",
            "indexes": [
                models.Index(
                    condition=models.Q(("done_at", None)),
                    fields=["at", "id"],
                    name="gp_outbox_open",
                ),
                models.Index(
                    condition=models.Q(("approval_id__isnull", False)),
                    fields=["approval_id"],
                    name="outbox_of_request",
                ),
                models.Index(
                    condition=models.Q(("incident_id", None), _negated=True),
                    fields=["incident_id"],
                    name="outbox_incident",
                ),
                models.Index(fields=["thread_id"], name="gp_outbox_thread"),
            ],
            "verbose_name_plural": "news",
        },
    ),
    # A place of one workspace that wants news. `address` is where it goes and may hold a secret
    # (a chat's URL): only `target`, its beginning, is ever shown. `secrets` sign a webhook's
    # messages: [{secret, since, until}], newest first.
    migrations.CreateModel(
        name="Endpoint",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("kind", models.CharField(max_length=10)),
            ("name", models.CharField(max_length=100)),
            ("target", models.CharField(blank=True, default="", max_length=200)),
            ("address", models.TextField(blank=True, default="")),
            ("secrets", models.JSONField(default=list)),
            ("events", models.JSONField(default=list)),
            ("digest", models.SmallIntegerField(default=0, help_text="minutes")),
            ("people", models.JSONField(default=list)),
            ("teams", models.JSONField(default=list)),
            ("active", models.BooleanField(default=True)),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_endpoint",
            "constraints": [
                models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_endpoint_name"),
                models.CheckConstraint(
                    condition=models.Q(("kind__in", ("email", "push", "apprise", "webhook"))),
                    name="gp_endpoint_kind",
                ),
            ],
        },
    ),
    # One news for one recipient through one endpoint. Open until `done_at` or `failed_at`.
    # `claim` is that of the sender who is at it, until `claimed_until`. Deliveries with the same
    # `parcel` went out as one message. `skipped` says why nothing had to be sent any more.
    migrations.CreateModel(
        name="Delivery",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "endpoint",
                models.ForeignKey(
                    db_index=False,
                    on_delete=models.PROTECT,
                    related_name="+",
                    to="approvals.endpoint",
                ),
            ),
            ("news_id", models.UUIDField()),
            ("kind", models.CharField(max_length=40)),
            ("recipient", models.CharField(blank=True, default="", max_length=254)),
            ("webhook_id", models.CharField(max_length=40)),
            ("attempts", models.SmallIntegerField(default=0)),
            ("next_at", models.DateTimeField(db_default=Now())),
            ("claim", models.UUIDField(null=True)),
            ("claimed_until", models.DateTimeField(null=True)),
            ("parcel", models.UUIDField(null=True)),
            ("code", models.SmallIntegerField(null=True)),
            ("error", models.CharField(blank=True, default="", max_length=300)),
            ("skipped", models.CharField(blank=True, default="", max_length=100)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("done_at", models.DateTimeField(null=True)),
            ("failed_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_delivery",
            "constraints": [
                models.UniqueConstraint(
                    fields=("news_id", "endpoint", "recipient"), name="gp_delivery_once"
                )
            ],
            "indexes": [
                models.Index(
                    condition=models.Q(("done_at", None), ("failed_at", None)),
                    fields=["endpoint", "next_at"],
                    name="gp_delivery_open",
                ),
                models.Index(fields=["endpoint", "recipient", "done_at"], name="gp_delivery_sent"),
                models.Index(
                    condition=models.Q(("claim", None), _negated=True),
                    fields=["claim"],
                    name="gp_delivery_claim",
                ),
                models.Index(fields=["workspace_id", "id"], name="gp_delivery_place"),
                models.Index(fields=["endpoint", "id"], name="gp_delivery_newest"),
                models.Index(
                    condition=models.Q(("failed_at", None), _negated=True),
                    fields=["endpoint", "failed_at"],
                    name="gp_delivery_failed",
                ),
                models.Index(
                    condition=models.Q(("error", ""), _negated=True),
                    fields=["endpoint", "id"],
                    name="gp_delivery_error",
                ),
            ],
            "verbose_name_plural": "deliveries",
        },
    ),
    # A browser of a person that takes web push: where its push service is, and its keys.
    migrations.CreateModel(
        name="PushDevice",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("person", models.CharField(max_length=200)),
            ("name", models.CharField(max_length=100)),
            ("target", models.CharField(max_length=200)),
            ("address", models.TextField()),
            ("p256dh", models.TextField()),
            ("auth", models.TextField()),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_push_device",
            "indexes": [
                models.Index(fields=["workspace_id", "person"], name="gp_push_device_person")
            ],
        },
    ),
)
