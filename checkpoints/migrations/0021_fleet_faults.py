"""Rows set aside by the sweep, steps of the database's clock, messages that workers refused."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0020_digests")]
    operations = [
        migrations.CreateModel(
            name="SetAside",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "part",
                        "row_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
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
            options={"db_table": "gp_set_aside"},
        ),
        migrations.CreateModel(
            name="ClockStep",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("seconds", models.FloatField(help_text="below 0: the clock went back")),
                ("noticed_by", models.CharField(max_length=200)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_clock_step"},
        ),
        migrations.AddField(
            model_name="worker",
            name="messages_refused",
            field=models.BigIntegerField(db_default=0),
        ),
    ]
