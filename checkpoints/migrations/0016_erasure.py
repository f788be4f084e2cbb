"""Erasure of content: requests, what is left, holds, retention rules, and guards that let it pass."""

from pathlib import Path

import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models

SCHEMA = Path(__file__).with_name("schema")


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0015_event_times"),
    ]

    operations = [
        migrations.CreateModel(
            name="Erased",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("erasure_id", models.UUIDField()),
                ("remains", models.CharField(max_length=64)),
                ("n_rows", models.BigIntegerField()),
                ("n_bytes", models.BigIntegerField()),
                (
                    "erased_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "verbose_name": "erased thread",
                "db_table": "gp_erased",
            },
        ),
        migrations.CreateModel(
            name="Erasure",
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
                ("thread_id", models.UUIDField()),
                ("scope", models.CharField(max_length=10)),
                ("n_threads", models.IntegerField()),
                ("selection", models.CharField(max_length=64)),
                ("reason", models.TextField()),
                ("rule", models.UUIDField(null=True)),
                ("state", models.CharField(default="requested", max_length=10)),
                ("requested_by", models.CharField(max_length=200)),
                ("requested_by_name", models.CharField(max_length=200)),
                (
                    "requested_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("decided_by", models.CharField(blank=True, default="", max_length=200)),
                ("decided_by_name", models.CharField(blank=True, default="", max_length=200)),
                ("decided_at", models.DateTimeField(null=True)),
                ("comment", models.TextField(blank=True, default="")),
                ("finished_at", models.DateTimeField(null=True)),
                ("n_rows", models.BigIntegerField(default=0)),
                ("n_bytes", models.BigIntegerField(default=0)),
                ("n_files", models.IntegerField(default=0)),
            ],
            options={
                "db_table": "gp_erasure",
            },
        ),
        migrations.CreateModel(
            name="ErasureFile",
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
                ("erasure_id", models.UUIDField()),
                ("workspace_id", models.UUIDField()),
                ("path", models.CharField(max_length=500)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("removed_at", models.DateTimeField(null=True)),
                ("n_removed", models.IntegerField(default=0)),
            ],
            options={
                "db_table": "gp_erasure_file",
            },
        ),
        migrations.CreateModel(
            name="Hold",
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
                ("thread_id", models.UUIDField()),
                ("reason", models.TextField()),
                ("set_by", models.CharField(max_length=200)),
                (
                    "set_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("lifted_by", models.CharField(blank=True, default="", max_length=200)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lift_reason", models.TextField(blank=True, default="")),
            ],
            options={
                "db_table": "gp_hold",
            },
        ),
        migrations.CreateModel(
            name="RetentionRule",
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
                ("agent", models.CharField(blank=True, default="", max_length=100)),
                ("days", models.IntegerField()),
                ("archive", models.BooleanField(default=False)),
                ("active", models.BooleanField(default=True)),
                ("set_by", models.CharField(max_length=200)),
                (
                    "set_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "gp_retention_rule",
            },
        ),
        migrations.AddField(
            model_name="thread",
            name="erasure",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="thread",
            index=models.Index(
                condition=models.Q(("erasure__isnull", False)),
                fields=["erasure"],
                name="gp_thread_erasure",
            ),
        ),
        migrations.AddIndex(
            model_name="erased",
            index=models.Index(fields=["erasure_id"], name="gp_erased_erasure"),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                fields=["workspace_id", "-requested_at", "-id"], name="gp_erasure_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                condition=models.Q(("state__in", ("requested", "approved"))),
                fields=["state"],
                name="gp_erasure_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ("requested", "approved", "done", "refused"))),
                name="gp_erasure_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(("scope__in", ("thread", "family"))), name="gp_erasure_scope"
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("approved", "done")), _negated=True),
                    ("rule__isnull", False),
                    models.Q(
                        models.Q(("decided_by", ""), _negated=True),
                        models.Q(("decided_by", models.F("requested_by")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="gp_erasure_four_eyes",
            ),
        ),
        migrations.AddIndex(
            model_name="erasurefile",
            index=models.Index(fields=["erasure_id"], name="gp_erasure_file_erasure"),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(fields=["workspace_id", "-set_at", "-id"], name="gp_hold_newest"),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at", None)), fields=("thread_id",), name="gp_hold_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionrule",
            constraint=models.UniqueConstraint(
                fields=("workspace_id", "agent"), name="gp_retention_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionrule",
            constraint=models.CheckConstraint(
                condition=models.Q(("days__gte", 1)), name="gp_retention_floor"
            ),
        ),
        migrations.RunSQL((SCHEMA / "erasure.sql").read_text(), migrations.RunSQL.noop),
    ]
