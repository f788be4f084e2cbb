"""Incidents, and who wants to hear of them."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # Threads of one agent in the same trouble, as one row; open until `closed_at`.
    migrations.CreateModel(
        name="Incident",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("agent", models.CharField(blank=True, max_length=100)),
            ("kind", models.CharField(max_length=30)),
            ("fingerprint", models.CharField(max_length=32)),
            ("reason", models.TextField(help_text="of the first thread")),
            ("labels", models.JSONField(db_default=[], default=list)),
            ("threads", models.IntegerField(db_default=0)),
            ("affected", models.IntegerField(db_default=0)),
            ("opened_at", models.DateTimeField(db_default=Now())),
            (
                "last_at",
                models.DateTimeField(db_default=Now(), help_text="when the newest thread joined"),
            ),
            ("taken_by", models.CharField(blank=True, db_default="", default="", max_length=200)),
            ("taken_at", models.DateTimeField(null=True)),
            ("snoozed_until", models.DateTimeField(null=True)),
            ("snoozed_by", models.CharField(blank=True, db_default="", default="", max_length=200)),
            ("closed_at", models.DateTimeField(null=True)),
            ("closed_by", models.CharField(blank=True, db_default="", default="", max_length=200)),
            ("close_reason", models.TextField(blank=True, db_default="", default="")),
        ],
        options={
            "db_table": "gp_incident",
            "indexes": [
                models.Index(fields=["workspace_id", "-opened_at", "-id"], name="gp_incident_list")
            ],
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("closed_at", None)),
                    fields=("workspace_id", "agent", "kind", "fingerprint"),
                    name="gp_incident_open",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        (
                            "kind__in",
                            (
                                "record.damaged",
                                "breaker.tripped",
                                "thread.attention",
                                "thread.failed",
                                "thread.over_budget",
                                "thread.stuck",
                            ),
                        )
                    ),
                    name="gp_incident_kind",
                ),
            ],
        },
    ),
    # The newest message of an incident to a subscription; `threads` were in it then.
    migrations.CreateModel(
        name="IncidentNotice",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "incident_id",
                    "subscription_id",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("incident_id", models.UUIDField()),
            ("subscription_id", models.UUIDField()),
            ("threads", models.IntegerField()),
            ("first_at", models.DateTimeField(db_default=Now())),
            ("last_at", models.DateTimeField(db_default=Now())),
            ("escalated_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_incident_notice",
        },
    ),
    # One thread of an incident; of an open breaker or a damaged log of a workspace, that one.
    migrations.CreateModel(
        name="IncidentThread",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "incident_id",
                    "subject_id",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("incident_id", models.UUIDField()),
            ("subject_id", models.UUIDField(help_text="a thread, a breaker or a workspace")),
            ("workspace_id", models.UUIDField()),
            ("kind", models.CharField(max_length=30)),
            ("reason", models.TextField()),
            ("since", models.DateTimeField()),
            ("joined_at", models.DateTimeField(db_default=Now())),
            ("left_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_incident_thread",
            "indexes": [
                models.Index(fields=["subject_id", "kind", "since"], name="gp_incident_subject"),
                models.Index(fields=["workspace_id", "kind", "-since"], name="gp_incident_since"),
                models.Index(fields=["incident_id", "-joined_at"], name="gp_incident_newest"),
                models.Index(
                    condition=models.Q(("left_at", None)),
                    fields=["incident_id", "subject_id"],
                    name="gp_incident_affected",
                ),
            ],
        },
    ),
    # The hours of each day in which news of incidents waits for a person.
    migrations.CreateModel(
        name="QuietHours",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("person", models.CharField(max_length=200)),
            ("begins", models.TimeField()),
            ("ends", models.TimeField()),
            ("zone", models.CharField(max_length=50)),
        ],
        options={
            "verbose_name_plural": "quiet hours",
            "db_table": "gp_quiet_hours",
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace_id", "person"), name="gp_quiet_hours_once"
                )
            ],
        },
    ),
    # Kinds of incidents of which one person or team gets news, and the endpoint that sends it.
    migrations.CreateModel(
        name="Subscription",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "person",
                models.CharField(blank=True, default="", help_text="user:7", max_length=200),
            ),
            ("team", models.CharField(blank=True, default="", max_length=150)),
            ("kinds", models.JSONField(default=list)),
            ("agent", models.CharField(blank=True, default="", max_length=100)),
            (
                "label",
                models.CharField(blank=True, default="", help_text="key=value", max_length=200),
            ),
            ("urgent", models.BooleanField(default=False, help_text="during quiet hours as well")),
            ("escalate_minutes", models.IntegerField(default=0)),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            (
                "endpoint",
                models.ForeignKey(
                    on_delete=models.PROTECT, related_name="+", to="approvals.endpoint"
                ),
            ),
            (
                "escalate_to",
                models.ForeignKey(
                    null=True,
                    on_delete=models.PROTECT,
                    related_name="+",
                    to="approvals.subscription",
                ),
            ),
        ],
        options={
            "db_table": "gp_subscription",
            "indexes": [models.Index(fields=["workspace_id", "id"], name="gp_subscription_place")],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("person", ""), ("team", ""), _negated=True),
                    name="gp_subscription_whose",
                )
            ],
        },
    ),
)
