"""Anchors that go out, their time stamps, and how far each destination has them."""

from pathlib import Path

from django.db import migrations, models
from django.db.models.functions import Now

SCHEMA = Path(__file__).with_name("schema")


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0016_erasure")]
    operations = [
        migrations.CreateModel(
            name="Anchor",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("at", models.BigIntegerField()),
                ("previous", models.BinaryField()),
                ("heads", models.JSONField()),
                ("heads_hash", models.BinaryField()),
                ("hash", models.BinaryField()),
                ("xid", models.BigIntegerField()),
                ("thread_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
            ],
            options={"db_table": "gp_anchor"},
        ),
        migrations.CreateModel(
            name="AnchorDestination",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("acknowledged", models.BigIntegerField(db_default=0)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("tried_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, db_default="", default="", max_length=300)),
                ("alarmed_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "gp_anchor_destination"},
        ),
        migrations.CreateModel(
            name="AnchorStamp",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "number",
                        "destination",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("destination", models.CharField(max_length=200)),
                ("token", models.BinaryField()),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_anchor_stamp"},
        ),
        migrations.RunSQL((SCHEMA / "anchors.sql").read_text(), migrations.RunSQL.noop),
    ]
