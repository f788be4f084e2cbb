"""Agents as workers announced them; both tables only grow."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # One version of an agent as a worker announced it; immutable, readable without its code.
    migrations.CreateModel(
        name="AgentVersion",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("agent", models.CharField(max_length=100)),
            ("version", models.PositiveIntegerField()),
            (
                "fingerprint",
                models.CharField(help_text="sha256 over modules, graph, schema", max_length=64),
            ),
            ("label", models.CharField(max_length=200)),
            ("description", models.TextField(blank=True)),
            ("schema_version", models.PositiveIntegerField(default=1)),
            ("schema", models.JSONField(help_text="JSON Schema of the state")),
            ("channels", models.JSONField(help_text="{channel: {reducer, default}}")),
            ("graph", models.JSONField(help_text="{entry, nodes: [{name, then, label, gate}]}")),
            ("tools", models.JSONField(help_text="{tool: {schema, effect, idempotent, undo}}")),
            ("queue", models.CharField(default="gatepost", max_length=100)),
            ("created_at", models.DateTimeField(db_default=Now())),
            (
                "code",
                models.JSONField(
                    help_text="{parts: [{file, name, digest, text}], packages, former}", null=True
                ),
            ),
            (
                "imported_into",
                models.UUIDField(
                    help_text="the workspace whose capsule brought it; no worker announced it then",
                    null=True,
                ),
            ),
        ],
        options={
            "db_table": "gp_agent_version",
            "constraints": [
                models.UniqueConstraint(
                    condition=models.Q(("imported_into", None)),
                    fields=("agent", "version", "fingerprint"),
                    name="gp_agent_version_once",
                )
            ],
        },
    ),
    # A worker has the very agent version that a capsule brought before; immutable.
    migrations.CreateModel(
        name="AgentAnnouncement",
        fields=[
            (
                "agent_version",
                models.OneToOneField(
                    on_delete=models.PROTECT,
                    primary_key=True,
                    related_name="+",
                    serialize=False,
                    to="checkpoints.agentversion",
                ),
            ),
            ("label", models.CharField(max_length=200)),
            ("description", models.TextField(blank=True)),
            ("queue", models.CharField(max_length=100)),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_agent_announcement",
        },
    ),
)
