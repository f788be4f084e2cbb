"""Figures by day, and budgets by month."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # A figure of one day (UTC) by agent, name and team; a cache that is made anew.
    migrations.CreateModel(
        name="DayFigure",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "day",
                    "figure",
                    "agent",
                    "name",
                    "team",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
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
        options={
            "db_table": "gp_day_figure",
        },
    ),
    # A day whose figures are in DayFigure, and since when; days without figures as well.
    migrations.CreateModel(
        name="FoldedDay",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "workspace_id",
                    "day",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("workspace_id", models.UUIDField()),
            ("day", models.DateField()),
            ("folded_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_folded_day",
        },
    ),
    # The limit of an agent, a team (by the label `team`) or the workspace in a month.
    migrations.CreateModel(
        name="Budget",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
    # A share of a budget that was reached in a month: 80 or 100 per cent, with what was spent.
    migrations.CreateModel(
        name="BudgetBand",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
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
        },
    ),
)
