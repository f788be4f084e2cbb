"""Incidents: many alike troubles as one, and who hears of them by subscription."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0004_news_of_requests"),
    ]

    operations = [
        migrations.CreateModel(
            name="Incident",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("kind", models.CharField(max_length=30)),
                ("fingerprint", models.CharField(max_length=32)),
                ("reason", models.TextField(help_text="of the first thread")),
                ("labels", models.JSONField(db_default=[], default=list)),
                ("threads", models.IntegerField(db_default=0)),
                ("affected", models.IntegerField(db_default=0)),
                (
                    "opened_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "last_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="when the newest thread joined",
                    ),
                ),
                (
                    "taken_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("taken_at", models.DateTimeField(null=True)),
                ("snoozed_until", models.DateTimeField(null=True)),
                (
                    "snoozed_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "closed_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("close_reason", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "db_table": "gp_incident",
            },
        ),
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
                (
                    "first_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "last_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("escalated_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "gp_incident_notice",
            },
        ),
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
                (
                    "joined_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("left_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "gp_incident_thread",
            },
        ),
        migrations.CreateModel(
            name="QuietHours",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
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
            },
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
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
                (
                    "urgent",
                    models.BooleanField(default=False, help_text="during quiet hours as well"),
                ),
                ("escalate_minutes", models.IntegerField(default=0)),
                ("made_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "gp_subscription",
            },
        ),
        migrations.AddField(
            model_name="news",
            name="incident_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="news",
            index=models.Index(
                condition=models.Q(("incident_id", None), _negated=True),
                fields=["incident_id"],
                name="outbox_incident",
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                fields=["workspace_id", "-opened_at", "-id"], name="gp_incident_list"
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at", None)),
                fields=("workspace_id", "agent", "kind", "fingerprint"),
                name="gp_incident_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddIndex(
            model_name="incidentthread",
            index=models.Index(fields=["subject_id", "kind", "since"], name="gp_incident_subject"),
        ),
        migrations.AddIndex(
            model_name="incidentthread",
            index=models.Index(fields=["workspace_id", "kind", "-since"], name="gp_incident_since"),
        ),
        migrations.AddIndex(
            model_name="incidentthread",
            index=models.Index(fields=["incident_id", "-joined_at"], name="gp_incident_newest"),
        ),
        migrations.AddIndex(
            model_name="incidentthread",
            index=models.Index(
                condition=models.Q(("left_at", None)),
                fields=["incident_id", "subject_id"],
                name="gp_incident_affected",
            ),
        ),
        migrations.AddConstraint(
            model_name="quiethours",
            constraint=models.UniqueConstraint(
                fields=("workspace_id", "person"), name="gp_quiet_hours_once"
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="endpoint",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="approvals.endpoint",
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="escalate_to",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="approvals.subscription",
            ),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["workspace_id", "id"], name="gp_subscription_place"),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.CheckConstraint(
                condition=models.Q(("person", ""), ("team", ""), _negated=True),
                name="gp_subscription_whose",
            ),
        ),
    ]
