"""Requests to erase threads, what is left of each, legal holds, retention rules."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # The rest of a thread whose content was erased; its id is the thread's.
    migrations.CreateModel(
        name="Erased",
        fields=[
            ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
            ("workspace_id", models.UUIDField()),
            ("erasure_id", models.UUIDField()),
            ("remains", models.CharField(max_length=64)),
            ("n_rows", models.BigIntegerField()),
            ("n_bytes", models.BigIntegerField()),
            ("erased_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "verbose_name": "erased thread",
            "db_table": "gp_erased",
            "indexes": [models.Index(fields=["erasure_id"], name="gp_erased_erasure")],
        },
    ),
    # A request to erase threads, who decided it, and what it came to.
    migrations.CreateModel(
        name="Erasure",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
            ("requested_at", models.DateTimeField(db_default=Now())),
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
            "indexes": [
                models.Index(
                    fields=["workspace_id", "-requested_at", "-id"], name="gp_erasure_newest"
                ),
                models.Index(
                    condition=models.Q(("state__in", ("requested", "approved"))),
                    fields=["state"],
                    name="gp_erasure_open",
                ),
            ],
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("state__in", ("requested", "approved", "done", "refused"))),
                    name="gp_erasure_state",
                ),
                models.CheckConstraint(
                    condition=models.Q(("scope__in", ("thread", "family"))), name="gp_erasure_scope"
                ),
                models.CheckConstraint(
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
            ],
        },
    ),
    # A file of an erased thread that is to be deleted; the rows go once the erasure is done.
    migrations.CreateModel(
        name="ErasureFile",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
            "indexes": [models.Index(fields=["erasure_id"], name="gp_erasure_file_erasure")],
        },
    ),
    # A legal hold: while it is set nothing of the thread is erased.
    migrations.CreateModel(
        name="Hold",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("thread_id", models.UUIDField()),
            ("reason", models.TextField()),
            ("set_by", models.CharField(max_length=200)),
            ("set_at", models.DateTimeField(db_default=Now())),
            ("lifted_by", models.CharField(blank=True, default="", max_length=200)),
            ("lifted_at", models.DateTimeField(null=True)),
            ("lift_reason", models.TextField(blank=True, default="")),
        ],
        options={
            "db_table": "gp_hold",
            "indexes": [
                models.Index(fields=["workspace_id", "-set_at", "-id"], name="gp_hold_newest")
            ],
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("lifted_at", None)),
                    fields=("thread_id",),
                    name="gp_hold_once",
                )
            ],
        },
    ),
    # Days from the end of an agent's thread to its erasure; `agent` is empty for all others.
    migrations.CreateModel(
        name="RetentionRule",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("agent", models.CharField(blank=True, default="", max_length=100)),
            ("days", models.IntegerField()),
            ("archive", models.BooleanField(default=False)),
            ("active", models.BooleanField(default=True)),
            ("set_by", models.CharField(max_length=200)),
            ("set_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_retention_rule",
            "constraints": [
                models.UniqueConstraint(fields=("workspace_id", "agent"), name="gp_retention_once"),
                models.CheckConstraint(
                    condition=models.Q(("days__gte", 1)), name="gp_retention_floor"
                ),
            ],
        },
    ),
)
