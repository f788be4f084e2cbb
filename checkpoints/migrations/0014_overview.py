"""Daily figures and budgets; indexes over beginnings of threads, unpriced calls and resumes."""

import uuid_utils.compat
from django.db import migrations, models
from django.db.models.functions import Now

INDEXES = {
    "gp_thread_created": "gp_thread (workspace_id, created_at)",
    "gp_activity_tokens": (
        "gp_activity (workspace_id, finished_at) WHERE usage ? 'tokens' AND NOT usage ? 'cost'"
    ),
    "gp_event_resumed": (
        "gp_event (workspace_id, at) WHERE kind IN ('lease.taken_over', 'thread.retried')"
    ),
}


def _key(*names):
    return models.CompositePrimaryKey(
        *names, blank=True, editable=False, primary_key=True, serialize=False
    )


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0013_breakers")]
    operations = [
        migrations.CreateModel(
            name="DayFigure",
            fields=[
                ("pk", _key("workspace_id", "day", "figure", "agent", "name", "team")),
                ("workspace_id", models.UUIDField()),
                ("day", models.DateField()),
                ("figure", models.CharField(max_length=20)),
                ("agent", models.CharField(max_length=100)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("team", models.CharField(blank=True, max_length=200)),
                ("n", models.BigIntegerField()),
                ("tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=18)),
            ],
            options={"db_table": "gp_day_figure"},
        ),
        migrations.CreateModel(
            name="FoldedDay",
            fields=[
                ("pk", _key("workspace_id", "day")),
                ("workspace_id", models.UUIDField()),
                ("day", models.DateField()),
                ("folded_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_folded_day"},
        ),
        migrations.CreateModel(
            name="Budget",
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
                ("scope", models.CharField(max_length=10)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("max_tokens", models.BigIntegerField(null=True)),
                ("max_cost", models.DecimalField(decimal_places=6, max_digits=18, null=True)),
                ("at_full", models.CharField(max_length=10)),
                ("active", models.BooleanField(default=True)),
                ("number", models.IntegerField(default=1)),
            ],
            options={
                "db_table": "gp_budget",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace_id", "scope", "name"), name="gp_budget_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("at_full__in", ("notify", "stop")),
                            ("scope__in", ("workspace", "agent", "team")),
                            models.Q(
                                ("max_tokens__isnull", False),
                                ("max_cost__isnull", False),
                                _connector="OR",
                            ),
                        ),
                        name="gp_budget_words",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetBand",
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
                ("budget_id", models.UUIDField()),
                ("number", models.IntegerField()),
                ("month", models.DateField()),
                ("band", models.SmallIntegerField()),
                ("workspace_id", models.UUIDField()),
                ("tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=18)),
                ("breaker_id", models.UUIDField(null=True)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "gp_budget_band",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("budget_id", "number", "month", "band"), name="gp_budget_band_once"
                    )
                ],
                "indexes": [
                    models.Index(fields=["workspace_id", "month"], name="gp_budget_band_month")
                ],
            },
        ),
        *(
            migrations.RunSQL(
                [
                    f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                    f"CREATE INDEX CONCURRENTLY {name} ON {columns}",
                ],
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            )
            for name, columns in INDEXES.items()
        ),
    ]
