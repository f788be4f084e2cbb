"""Figures by hour beside those by day, in one table; days that are added up are taken over."""

from django.db import migrations, models

from .schema import run_files

_UNIT = ("workspace_id", "unit", "at")
TAKE_OVER = """
INSERT INTO gp_figure (workspace_id, unit, at, figure, agent, name, team, n, tokens, cost)
SELECT workspace_id, 'day', day::timestamp AT TIME ZONE 'UTC', figure, agent, name, team, n, tokens,
  cost FROM gp_day_figure;
INSERT INTO gp_folded_unit (workspace_id, unit, at, folded_at)
SELECT workspace_id, 'day', day::timestamp AT TIME ZONE 'UTC', folded_at FROM gp_folded_day;
"""


def _key(*names: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(
        *names, blank=True, editable=False, primary_key=True, serialize=False
    )


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0003_unneeded_indexes")]
    operations = [
        migrations.CreateModel(
            name="Figure",
            fields=[
                ("pk", _key(*_UNIT, "figure", "agent", "name", "team")),
                ("workspace_id", models.UUIDField()),
                ("unit", models.CharField(max_length=4)),
                ("at", models.DateTimeField()),
                ("figure", models.CharField(max_length=20)),
                ("agent", models.CharField(max_length=100)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("team", models.CharField(blank=True, max_length=200)),
                ("n", models.BigIntegerField()),
                ("tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=18)),
            ],
            options={"db_table": "gp_figure"},
        ),
        migrations.CreateModel(
            name="FoldedUnit",
            fields=[
                ("pk", _key(*_UNIT)),
                ("workspace_id", models.UUIDField()),
                ("unit", models.CharField(max_length=4)),
                ("at", models.DateTimeField()),
                ("folded_at", models.DateTimeField()),
            ],
            options={"db_table": "gp_folded_unit"},
        ),
        migrations.CreateModel(
            name="FigureChange",
            fields=[
                ("pk", _key(*_UNIT, "id")),
                ("workspace_id", models.UUIDField()),
                ("unit", models.CharField(max_length=4)),
                ("at", models.DateTimeField()),
                ("id", models.UUIDField()),
            ],
            options={"db_table": "gp_figure_change"},
        ),
        migrations.RunSQL(TAKE_OVER, migrations.RunSQL.noop),
        migrations.DeleteModel(name="DayFigure"),
        migrations.DeleteModel(name="FoldedDay"),
        *run_files(__file__, "figures"),
    ]
