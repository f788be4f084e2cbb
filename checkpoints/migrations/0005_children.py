"""Children: a thread's place in its family tree, what parents know of children, news with a time."""

from pathlib import Path

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

SQL = Path(__file__).with_name("schema") / "children.sql"
DROP = "DROP TRIGGER gp_child_ended ON gp_thread; DROP FUNCTION gp_child_ended()"


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0004_worker_models")]
    operations = [
        migrations.AddField("thread", "root", models.UUIDField(null=True)),
        migrations.AddField("thread", "depth", models.SmallIntegerField(db_default=0)),
        migrations.AddField(
            "wake",
            "due_at",
            models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                help_text="not delivered before",
            ),
        ),
        migrations.CreateModel(
            "Child",
            [
                (
                    "child",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="checkpoints.thread",
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("parent", models.UUIDField()),
                (
                    "fan_out",
                    models.UUIDField(help_text="the activity that started it, with others"),
                ),
                ("ordinal", models.IntegerField(help_text="its place among those of the fan-out")),
                ("hold", models.CharField(blank=True, db_default="", max_length=10)),
                ("outcome", models.CharField(blank=True, db_default="", max_length=20)),
                ("awaited", models.SmallIntegerField(null=True)),
            ],
            {
                "db_table": "gp_child",
                "verbose_name_plural": "children",
                "indexes": [
                    models.Index(fields=["parent", "fan_out", "ordinal"], name="gp_child_order"),
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
        migrations.RunSQL(SQL.read_text(), DROP),
    ]
