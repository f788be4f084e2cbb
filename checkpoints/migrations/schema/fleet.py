"""Workers and what they share."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # One worker process group and when it last proved that its loop turns.
    migrations.CreateModel(
        name="Worker",
        fields=[
            ("id", models.CharField(max_length=200, primary_key=True, serialize=False)),
            ("host", models.CharField(max_length=200)),
            ("pid", models.IntegerField()),
            ("slots", models.IntegerField(default=1)),
            ("queues", models.JSONField(default=list)),
            ("agents", models.JSONField(default=list, help_text="agent version ids")),
            ("started_at", models.DateTimeField(db_default=Now())),
            ("seen_at", models.DateTimeField(db_default=Now())),
            ("stopped_at", models.DateTimeField(null=True)),
            ("messages_refused", models.BigIntegerField(db_default=0)),
            (
                "models",
                models.JSONField(
                    db_default={},
                    default=dict,
                    help_text="by agent and workspace (its name, or empty)",
                ),
            ),
        ],
        options={
            "db_table": "gp_worker",
            "indexes": [models.Index(fields=["-started_at", "-id"], name="gp_worker_started")],
        },
    ),
    # A service that asked everybody to wait, by the name of the function, tool or model call.
    migrations.CreateModel(
        name="Backoff",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "name",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("name", models.CharField(max_length=250)),
            ("until", models.DateTimeField()),
            ("said", models.CharField(default="", max_length=250)),
        ],
        options={
            "db_table": "gp_backoff",
        },
    ),
    # A due row whose handling failed in a part of the sweep; tried again at `next_at`.
    migrations.CreateModel(
        name="SetAside",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "part", "row_id", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("part", models.CharField(max_length=30)),
            ("row_id", models.UUIDField(help_text="a thread, an approval or news")),
            ("thread_id", models.UUIDField(null=True)),
            ("error", models.TextField()),
            ("attempts", models.IntegerField()),
            ("first_at", models.DateTimeField(db_default=Now())),
            ("next_at", models.DateTimeField()),
        ],
        options={
            "db_table": "gp_set_aside",
        },
    ),
    # A step of the database's clock that a sweeper noticed; `at` is the clock after it.
    migrations.CreateModel(
        name="ClockStep",
        fields=[
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("seconds", models.FloatField(help_text="below 0: the clock went back")),
            ("noticed_by", models.CharField(max_length=200)),
            ("at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_clock_step",
        },
    ),
    # A lease on a fleet-wide duty, so that one worker at a time does it. The sweep; and
    # `folder:<thread>` for each folder that is still to be written.
    migrations.CreateModel(
        name="Duty",
        fields=[
            ("name", models.CharField(max_length=50, primary_key=True, serialize=False)),
            ("owner", models.CharField(default="", max_length=200)),
            ("until", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_duty",
        },
    ),
    # The last event that an export of spans has read, with counts of spans sent and dropped.
    migrations.CreateModel(
        name="SpanExport",
        fields=[
            ("name", models.CharField(max_length=50, primary_key=True, serialize=False)),
            ("xid", models.BigIntegerField()),
            ("thread_id", models.UUIDField()),
            ("seq", models.BigIntegerField()),
            ("sent", models.BigIntegerField(db_default=0)),
            ("dropped", models.BigIntegerField(db_default=0)),
            ("moved_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_span_export",
        },
    ),
    # The thread of the spans of a trace or a conversation; `key` names either.
    migrations.CreateModel(
        name="Watched",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "key",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("key", models.CharField(max_length=250)),
            ("thread_id", models.UUIDField()),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_watched",
        },
    ),
    # Usual times of the steps and the waits for people of a node, in seconds; a cache.
    migrations.CreateModel(
        name="NodeTime",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "agent",
                    "node",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("agent", models.CharField(max_length=100)),
            ("node", models.CharField(max_length=100)),
            ("n_steps", models.IntegerField(db_default=0)),
            ("step_p50", models.FloatField(null=True)),
            ("step_p95", models.FloatField(null=True)),
            ("n_waits", models.IntegerField(db_default=0)),
            ("wait_p50", models.FloatField(null=True)),
            ("wait_p95", models.FloatField(null=True)),
            ("learned_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_node_time",
        },
    ),
    # A thread that the sweep takes for stuck, as long as it has not moved; a cache.
    migrations.CreateModel(
        name="Stuck",
        fields=[
            ("thread_id", models.UUIDField(primary_key=True, serialize=False)),
            ("workspace_id", models.UUIDField()),
            ("agent", models.CharField(max_length=100)),
            ("node", models.CharField(blank=True, max_length=100)),
            ("rule", models.CharField(max_length=10)),
            ("since", models.DateTimeField()),
            ("reason", models.TextField()),
            ("status_since", models.DateTimeField()),
            ("last_seq", models.BigIntegerField(null=True)),
            ("noted_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_stuck",
            "verbose_name_plural": "stuck threads",
            "indexes": [
                models.Index(fields=["workspace_id", "agent", "node"], name="gp_stuck_node")
            ],
        },
    ),
    # Threads of a selection that nobody may work on, from the trip to the release.
    migrations.CreateModel(
        name="Breaker",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            (
                "selection",
                models.JSONField(default=dict, help_text="what the board's filter says; {}: all"),
            ),
            ("reason", models.TextField()),
            ("opened_by", models.CharField(max_length=200)),
            ("opened_at", models.DateTimeField(db_default=Now())),
            ("released_to", models.BigIntegerField(db_default=0)),
            ("releases", models.IntegerField(db_default=0)),
            ("released_at", models.DateTimeField(help_text="the newest release", null=True)),
            (
                "released_by",
                models.CharField(blank=True, db_default="", default="", max_length=200),
            ),
            ("closed_at", models.DateTimeField(null=True)),
        ],
        options={
            "db_table": "gp_breaker",
            "indexes": [
                models.Index(
                    condition=models.Q(("closed_at", None)),
                    fields=["workspace_id"],
                    name="gp_breaker_open",
                ),
                models.Index(
                    fields=["workspace_id", "-opened_at", "-id"], name="gp_breaker_newest"
                ),
            ],
        },
    ),
)
