"""An index of the history that holds no text, and the questions that were asked of it."""

import uuid_utils.compat
from django.db import migrations, models
from django.db.models.functions import Now

from checkpoints.models.history_index import ArrayOf

from .schema import run_files


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0009_lost_steps")]
    operations = [
        migrations.CreateModel(
            name="IndexedEvent",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "thread_id",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("thread_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("workspace_id", models.UUIDField()),
                ("kind", models.CharField(max_length=40)),
                ("agent", models.CharField(max_length=100)),
                ("at", models.DateTimeField()),
                ("words", ArrayOf(of="integer")),
            ],
            options={"db_table": "gp_indexed_event"},
        ),
        migrations.CreateModel(
            name="IndexPosition",
            fields=[
                ("name", models.CharField(max_length=50, primary_key=True, serialize=False)),
                ("xid", models.BigIntegerField()),
                ("thread_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
            ],
            options={"db_table": "gp_index_position"},
        ),
        migrations.CreateModel(
            name="RecordQuestion",
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
                ("asked_by", models.CharField(max_length=250)),
                ("question", models.TextField(blank=True)),
                ("scope", models.JSONField(default=dict)),
                ("answer", models.JSONField(default=dict)),
                ("salt", models.BinaryField()),
                ("threads", ArrayOf(of="uuid")),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "gp_record_question",
                "indexes": [
                    models.Index(
                        "workspace_id",
                        models.OrderBy(models.F("id"), descending=True),
                        name="gp_record_question_newest",
                    ),
                ],
            },
        ),
        *run_files(__file__, "history_index"),
    ]
