"""Workers and what they share."""

from django.db import migrations, models
from django.db.models.functions import Now

TABLES = (
    # One worker process group and when it last proved that its loop turns.
    migrations.CreateModel(
        "Worker",
        [
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
        ],
        {
            "db_table": "gp_worker",
            "indexes": [
                models.Index(fields=["-started_at", "-id"], name="gp_worker_started"),
            ],
        },
    ),
    # A service that asked everybody to wait, by the name of the function, tool or model call.
    migrations.CreateModel(
        "Backoff",
        [
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
        {
            "db_table": "gp_backoff",
        },
    ),
    # A due row whose handling failed in a part of the sweep; tried again at `next_at`.
    migrations.CreateModel(
        "SetAside",
        [
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
        {
            "db_table": "gp_set_aside",
        },
    ),
    # A step of the database's clock that a sweeper noticed; `at` is the clock after it.
    migrations.CreateModel(
        "ClockStep",
        [
            ("id", models.UUIDField(primary_key=True, serialize=False)),
            ("seconds", models.FloatField(help_text="below 0: the clock went back")),
            ("noticed_by", models.CharField(max_length=200)),
            ("at", models.DateTimeField(db_default=Now())),
        ],
        {
            "db_table": "gp_clock_step",
        },
    ),
    # A lease on a fleet-wide duty, so that one worker at a time does it. The sweep; and
    # `folder:<thread>` for each folder that is still to be written.
    migrations.CreateModel(
        "Duty",
        [
            ("name", models.CharField(max_length=50, primary_key=True, serialize=False)),
            ("owner", models.CharField(default="", max_length=200)),
            ("until", models.DateTimeField(null=True)),
        ],
        {
            "db_table": "gp_duty",
        },
    ),
)
