"""Deputies, and in whose place a decision was made; devices that take web push."""

import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0006_erasure")]
    operations = [
        migrations.AddField(
            model_name="decision",
            name="for_person",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.RemoveConstraint("endpoint", "gp_endpoint_kind"),
        migrations.AddConstraint(
            "endpoint",
            models.CheckConstraint(
                condition=models.Q(kind__in=("email", "push", "apprise", "webhook")),
                name="gp_endpoint_kind",
            ),
        ),
        migrations.CreateModel(
            name="PushDevice",
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
                ("name", models.CharField(max_length=100)),
                ("target", models.CharField(max_length=200)),
                ("address", models.TextField()),
                ("p256dh", models.CharField(max_length=100)),
                ("auth", models.CharField(max_length=100)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "gp_push_device",
                "indexes": [
                    models.Index(fields=["workspace_id", "person"], name="gp_push_device_person")
                ],
            },
        ),
        migrations.CreateModel(
            name="Deputy",
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
                ("deputy", models.CharField(max_length=200)),
                ("approval_id", models.UUIDField(null=True)),
                ("begins", models.DateTimeField()),
                ("ends", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("made_by", models.CharField(max_length=200)),
                (
                    "made_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "verbose_name_plural": "deputies",
                "db_table": "gp_deputy",
                "indexes": [
                    models.Index(fields=["workspace_id", "deputy"], name="gp_deputy_acts"),
                    models.Index(
                        fields=["workspace_id", "person", "begins"], name="gp_deputy_person"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace_id", "person", "approval_id"),
                        name="gp_deputy_request",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("person", models.F("deputy")), _negated=True),
                        name="gp_deputy_other",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("approval_id", None), ("ends__gt", models.F("begins"))),
                            models.Q(("approval_id__isnull", False), ("ends", None)),
                            _connector="OR",
                        ),
                        name="gp_deputy_until",
                    ),
                ],
            },
        ),
    ]
