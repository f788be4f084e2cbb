"""Requests for approval, the verdicts on them, and what became of them."""

from django.db import migrations, models
from django.db.models.functions import Coalesce, Now
from uuid_utils.compat import uuid7

from approvals.models import Names

TABLES = (
    # What an agent asks people: one proposal at one position of one thread.
    migrations.CreateModel(
        name="Approval",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("thread_id", models.UUIDField()),
            ("agent_version_id", models.UUIDField()),
            ("branch", models.IntegerField()),
            ("step", models.IntegerField()),
            ("node", models.CharField(max_length=100)),
            ("index", models.IntegerField(default=0)),
            ("key", models.CharField(max_length=200)),
            ("revision", models.SmallIntegerField(default=0)),
            ("kind", models.CharField(max_length=10)),
            ("tool", models.CharField(blank=True, max_length=200)),
            ("args", models.JSONField()),
            ("proposal_hash", models.CharField(max_length=64)),
            ("policy_version", models.CharField(default="author", max_length=100)),
            ("title", models.CharField(max_length=300)),
            ("description", models.TextField(blank=True)),
            ("reasons", models.JSONField(default=list)),
            ("risk", models.CharField(default="medium", max_length=10)),
            ("schema", models.JSONField(null=True)),
            ("undo", models.CharField(blank=True, max_length=200)),
            ("deadline", models.DateTimeField(null=True)),
            ("terms", models.JSONField(null=True)),
            ("policies", models.CharField(blank=True, db_default="", max_length=64)),
            ("repeats", models.JSONField(null=True)),
            ("sentence", models.CharField(blank=True, db_default="", max_length=300)),
            ("standing_args", models.JSONField(null=True)),
            ("standing_hash", models.CharField(blank=True, db_default="", max_length=64)),
            ("decide_by", models.DateTimeField(null=True)),
            ("escalated_at", models.DateTimeField(null=True)),
            ("reminded", models.SmallIntegerField(db_default=0)),
            ("tally", models.JSONField(null=True)),
            ("due_seats", Names(db_default="{}")),
            ("due_except", Names(db_default="{}")),
            ("status", models.CharField(default="pending", max_length=10)),
            ("outcome", models.CharField(blank=True, max_length=10)),
            ("what_next", models.CharField(blank=True, db_default="", max_length=10)),
            ("comment", models.TextField(blank=True)),
            ("decided_by", models.CharField(blank=True, max_length=200)),
            ("decided_by_name", models.CharField(blank=True, max_length=200)),
            ("decided_at", models.DateTimeField(null=True)),
            ("decided_args", models.JSONField(null=True)),
            ("effective_at", models.DateTimeField(null=True)),
            ("requested_at", models.DateTimeField(db_default=Now())),
            ("imported", models.BooleanField(db_default=False)),
            ("origin", models.JSONField(null=True)),
        ],
        options={
            "db_table": "gp_approval",
            "constraints": [
                models.UniqueConstraint(
                    fields=("thread_id", "branch", "step", "node", "index", "key", "revision"),
                    name="gp_approval_position",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("status__in", ("pending", "held", "settled", "expired", "withdrawn"))
                    ),
                    name="gp_approval_status",
                ),
                models.CheckConstraint(
                    condition=models.Q(("what_next__in", ("", "go_on", "stop", "roll_back"))),
                    name="gp_approval_what_next",
                ),
                models.CheckConstraint(
                    condition=models.Q(("status", "pending"), ("due_seats", "{}"), _connector="OR"),
                    name="gp_approval_nobody_due",
                ),
            ],
            "indexes": [
                models.Index(
                    condition=models.Q(("status", "pending")),
                    fields=["workspace_id", "requested_at", "id"],
                    name="gp_approval_open",
                ),
                models.Index(
                    fields=["workspace_id", "-requested_at", "-id"], name="gp_approval_all"
                ),
                models.Index(
                    condition=models.Q(("status", "held")),
                    fields=["effective_at"],
                    name="gp_approval_held",
                ),
                models.Index(
                    Coalesce("decide_by", "deadline"),
                    condition=models.Q(("status", "pending")),
                    name="gp_approval_due",
                ),
            ],
        },
    ),
    # One reviewer's verdict on one approval; never updated, never deleted.
    migrations.CreateModel(
        name="Decision",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "approval",
                models.ForeignKey(
                    on_delete=models.PROTECT, related_name="+", to="approvals.approval"
                ),
            ),
            ("reviewer", models.CharField(max_length=200)),
            ("reviewer_name", models.CharField(max_length=200)),
            ("verdict", models.CharField(max_length=10)),
            ("proposal_hash", models.CharField(max_length=64)),
            ("comment", models.TextField(blank=True)),
            ("args", models.JSONField(null=True)),
            ("what_next", models.CharField(blank=True, db_default="", max_length=10)),
            ("salt", models.BinaryField()),
            ("hash", models.BinaryField()),
            ("at", models.DateTimeField(db_default=Now())),
            ("for_person", models.CharField(blank=True, db_default="", max_length=200)),
        ],
        options={
            "db_table": "gp_decision",
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(
                        ("verdict__in", ("approve", "edit", "respond", "reject", "take_back"))
                    ),
                    name="gp_decision_verdict",
                )
            ],
        },
    ),
    # What became of an approved operation: one row per approval, so it is done at most once.
    migrations.CreateModel(
        name="CarriedOut",
        fields=[
            (
                "approval",
                models.OneToOneField(
                    db_column="approval_id",
                    on_delete=models.PROTECT,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="approvals.approval",
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("outcome", models.CharField(max_length=10)),
            ("said", models.TextField(blank=True)),
            ("at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_carried_out",
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(("outcome__in", ("done", "failed"))),
                    name="gp_carried_out_outcome",
                )
            ],
            "verbose_name_plural": "carried out",
        },
    ),
    # When a person opened a request for the first time; never updated, never deleted.
    migrations.CreateModel(
        name="Look",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "approval_id",
                    "person",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("approval_id", models.UUIDField()),
            ("person", models.CharField(max_length=200)),
            ("at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_approval_look",
        },
    ),
    # The right of `deputy` to act for `person` (both `user:7`).
    migrations.CreateModel(
        name="Deputy",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("person", models.CharField(max_length=200)),
            ("deputy", models.CharField(max_length=200)),
            ("approval_id", models.UUIDField(null=True)),
            ("begins", models.DateTimeField()),
            ("ends", models.DateTimeField(null=True)),
            ("reason", models.CharField(blank=True, max_length=500)),
            ("made_by", models.CharField(max_length=200)),
            ("made_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "verbose_name_plural": "deputies",
            "db_table": "gp_deputy",
            "indexes": [
                models.Index(fields=["workspace_id", "deputy"], name="gp_deputy_acts"),
            ],
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace_id", "person", "approval_id"), name="gp_deputy_request"
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
)
