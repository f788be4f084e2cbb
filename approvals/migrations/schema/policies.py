"""Rules that demand a request, with their versions, and spend caps."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # A rule of a workspace by its name; what it says stands in its newest version. The first one,
    # by position, whose condition holds decides. Policies are switched off, never deleted:
    # requests and the log name them.
    migrations.CreateModel(
        name="Policy",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("name", models.CharField(max_length=100)),
            ("position", models.IntegerField()),
            ("active", models.BooleanField(default=True)),
            ("number", models.IntegerField(default=1)),
        ],
        options={
            "db_table": "gp_policy",
            "constraints": [
                models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_policy_name")
            ],
            "indexes": [
                models.Index(fields=["workspace_id", "position", "id"], name="gp_policy_order")
            ],
            "verbose_name_plural": "policies",
        },
    ),
    # What a policy said from a time on; never changed. `deadline` counts seconds to decide.
    migrations.CreateModel(
        name="PolicyVersion",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "policy",
                models.ForeignKey(
                    db_index=False,
                    on_delete=models.PROTECT,
                    related_name="+",
                    to="approvals.policy",
                ),
            ),
            ("number", models.IntegerField()),
            ("condition", models.TextField()),
            ("action", models.CharField(max_length=10)),
            ("terms", models.JSONField()),
            ("deadline", models.FloatField(null=True)),
            ("risk", models.CharField(blank=True, max_length=10)),
            ("title", models.CharField(blank=True, max_length=300)),
            ("note", models.TextField(blank=True)),
            ("made_by", models.CharField(max_length=200)),
            ("made_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_policy_version",
            "constraints": [
                models.UniqueConstraint(
                    fields=("policy", "number"), name="gp_policy_version_number"
                ),
                models.CheckConstraint(
                    condition=models.Q(("action__in", ("ask", "allow", "block"))),
                    name="gp_policy_version_action",
                ),
            ],
        },
    ),
    # How much threads may spend before they pause; `agent` is empty where all are meant.
    migrations.CreateModel(
        name="SpendCap",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("scope", models.CharField(max_length=10)),
            ("agent", models.CharField(blank=True, max_length=100)),
            ("per", models.CharField(max_length=10)),
            ("max_cost", models.DecimalField(decimal_places=6, max_digits=18)),
            ("active", models.BooleanField(default=True)),
        ],
        options={
            "db_table": "gp_spend_cap",
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace_id", "scope", "agent", "per"), name="gp_spend_cap_once"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("scope__in", ("thread", "agent", "workspace")),
                        ("per__in", ("total", "day")),
                        ("max_cost__gte", 0),
                    ),
                    name="gp_spend_cap_words",
                ),
            ],
        },
    ),
    # The cost reserved for a call under way; counts until its lease or its step ends.
    migrations.CreateModel(
        name="SpendReservation",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "thread_id",
                    "position",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("thread_id", models.UUIDField()),
            ("position", models.CharField(max_length=400)),
            ("workspace_id", models.UUIDField()),
            ("lease_token", models.UUIDField()),
            ("step", models.IntegerField()),
            ("cost", models.DecimalField(decimal_places=6, max_digits=18)),
            ("tokens", models.BigIntegerField()),
        ],
        options={
            "db_table": "gp_spend_reservation",
        },
    ),
)
