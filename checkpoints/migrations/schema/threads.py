"""Threads: the one row that each step updates, and what waits or was found beside it."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # One execution of an agent: the only row that a step updates. No index contains a column that
    # a step changes, so a step's UPDATE stays heap-only.
    migrations.CreateModel(
        name="Thread",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
                "agent_version",
                models.ForeignKey(
                    on_delete=models.PROTECT, related_name="+", to="checkpoints.agentversion"
                ),
            ),
            ("agent", models.CharField(max_length=100)),
            ("name", models.CharField(blank=True, max_length=255, null=True)),
            ("title", models.CharField(max_length=300)),
            ("labels", models.JSONField(default=dict)),
            ("queue", models.CharField(max_length=100)),
            ("status", models.CharField(default="queued", max_length=20)),
            ("status_since", models.DateTimeField(db_default=Now())),
            ("status_reason", models.TextField(blank=True, default="")),
            ("waiting_on", models.JSONField(null=True)),
            ("wake_at", models.DateTimeField(null=True)),
            ("wake_seq", models.BigIntegerField(default=0)),
            ("wish", models.CharField(blank=True, default="", max_length=20)),
            ("wish_by", models.CharField(blank=True, default="", max_length=200)),
            ("pause_at", models.CharField(blank=True, default="", max_length=100)),
            (
                "pinned",
                models.BooleanField(db_default=False, help_text="no other code may take it"),
            ),
            ("effects", models.CharField(default="run", max_length=10)),
            ("head", models.UUIDField()),
            ("number", models.IntegerField(default=0)),
            ("step", models.IntegerField(default=0)),
            ("branch", models.IntegerField(default=0)),
            ("branch_start", models.IntegerField(default=0)),
            ("next_nodes", models.JSONField(default=list)),
            ("state_bytes", models.BigIntegerField(default=0)),
            ("version", models.BigIntegerField(default=1)),
            ("chain_id", models.UUIDField()),
            ("last_seq", models.BigIntegerField(default=0)),
            ("last_hash", models.BinaryField()),
            ("prev_hash", models.BinaryField()),
            ("last_at", models.DateTimeField(db_default=Now())),
            ("lease_owner", models.CharField(blank=True, default="", max_length=200)),
            ("lease_token", models.UUIDField(null=True)),
            ("lease_until", models.DateTimeField(null=True)),
            ("fence", models.BigIntegerField(default=0)),
            ("crash_count", models.SmallIntegerField(default=0)),
            ("started_by", models.CharField(max_length=200)),
            ("parent", models.UUIDField(null=True)),
            ("base", models.UUIDField(null=True)),
            ("forked_from", models.UUIDField(null=True)),
            ("imported_seq", models.BigIntegerField(db_default=0)),
            ("imported_number", models.IntegerField(db_default=-1)),
            (
                "rollback",
                models.JSONField(help_text="the plan while status is rolling_back", null=True),
            ),
            ("n_steps", models.BigIntegerField(default=0)),
            ("tokens", models.BigIntegerField(default=0)),
            ("cost", models.DecimalField(decimal_places=6, default=0, max_digits=18)),
            ("tokens_saved", models.BigIntegerField(default=0)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("root", models.UUIDField(null=True)),
            ("depth", models.SmallIntegerField(db_default=0)),
            ("erasure", models.UUIDField(null=True)),
            (
                "searchable",
                models.JSONField(help_text="{channel: value} of searchable channels", null=True),
            ),
            (
                "automatic_title",
                models.CharField(
                    db_default="",
                    help_text="the agent may replace the title while it is this",
                    max_length=300,
                ),
            ),
        ],
        options={
            "db_table": "gp_thread",
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace", "agent", "name"), name="gp_thread_name"
                )
            ],
            "indexes": [
                models.Index(fields=["workspace", "-status_since", "-id"], name="gp_thread_since"),
                models.Index(
                    fields=["workspace", "status", "-status_since", "-id"], name="gp_thread_board"
                ),
                models.Index(
                    condition=models.Q(("status__in", ("queued", "rolling_back", "running"))),
                    fields=["queue", "status_since"],
                    name="gp_thread_queue",
                ),
                models.Index(
                    condition=models.Q(("status", "sleeping")),
                    fields=["wake_at"],
                    name="gp_thread_wake",
                ),
                models.Index(
                    condition=models.Q(("forked_from__isnull", False)),
                    fields=["forked_from"],
                    name="gp_thread_forks",
                ),
                models.Index(
                    condition=models.Q(("erasure__isnull", False)),
                    fields=["erasure"],
                    name="gp_thread_erasure",
                ),
            ],
        },
    ),
    # News for a thread, written with the change that causes it and delivered afterwards.
    migrations.CreateModel(
        name="Wake",
        fields=[
            (
                "id",
                models.BigAutoField(
                    auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                ),
            ),
            (
                "thread",
                models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    on_delete=models.DO_NOTHING,
                    to="checkpoints.thread",
                ),
            ),
            ("kind", models.CharField(max_length=30)),
            ("ref", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("due_at", models.DateTimeField(db_default=Now(), help_text="not delivered before")),
        ],
        options={
            "db_table": "gp_wake",
            "constraints": [
                models.UniqueConstraint(fields=("thread", "kind", "ref"), name="gp_wake_once")
            ],
        },
    ),
    # The last verification of a thread; also of one that is gone and has left rows behind.
    migrations.CreateModel(
        name="Verification",
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
                "thread",
                models.OneToOneField(
                    db_constraint=False,
                    on_delete=models.DO_NOTHING,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="checkpoints.thread",
                ),
            ),
            ("workspace_id", models.UUIDField(null=True)),
        ],
        options={
            "db_table": "gp_verification",
            "indexes": [
                models.Index(
                    condition=models.Q(("intact", False)),
                    fields=["workspace_id", "found_at"],
                    name="gp_verification_damaged",
                )
            ],
        },
    ),
    # A thread that another one started: what its parent has to know of it without looking at it.
    migrations.CreateModel(
        name="Child",
        fields=[
            (
                "child",
                models.OneToOneField(
                    db_constraint=False,
                    on_delete=models.DO_NOTHING,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="checkpoints.thread",
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("parent", models.UUIDField()),
            ("fan_out", models.UUIDField(help_text="the activity that started it, with others")),
            ("ordinal", models.IntegerField(help_text="its place among those of the fan-out")),
            ("hold", models.CharField(blank=True, db_default="", max_length=10)),
            ("outcome", models.CharField(blank=True, db_default="", max_length=20)),
            ("awaited", models.SmallIntegerField(null=True)),
            ("successor", models.UUIDField(null=True)),
        ],
        options={
            "db_table": "gp_child",
            "verbose_name_plural": "children",
            "indexes": [
                models.Index(
                    condition=models.Q(("hold", "held")),
                    fields=["fan_out", "ordinal"],
                    name="gp_child_held",
                ),
                models.Index(
                    condition=models.Q(("awaited__isnull", False)),
                    fields=["parent", "awaited", "outcome"],
                    name="gp_child_awaited",
                ),
            ],
        },
    ),
)
