"""Outgoing anchors of the logs' ends, and how far each destination has them."""

from django.db import migrations, models
from django.db.models.functions import Now

TABLES = (
    # The ends of logs that have moved since the anchor before; never changed.
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
        options={
            "db_table": "gp_anchor",
        },
    ),
    # A destination of GATEPOST_ANCHORS, and the newest anchor that it has confirmed.
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
        options={
            "db_table": "gp_anchor_destination",
        },
    ),
    # The time stamp (RFC 3161) that an authority gave an anchor; never changed.
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
        options={
            "db_table": "gp_anchor_stamp",
        },
    ),
)
