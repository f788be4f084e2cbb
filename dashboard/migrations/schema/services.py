"""Calls that are repeated, servers behind the gateway, saved pages."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

TABLES = (
    # A change that was asked for under a name of the caller's choice, and its answer.
    migrations.CreateModel(
        name="IdempotencyKey",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("user_id", models.BigIntegerField()),
            ("key", models.CharField(max_length=255)),
            ("call", models.CharField(help_text="method and path", max_length=400)),
            ("body_hash", models.BinaryField(help_text="keyed digest of the canonical body")),
            ("status", models.SmallIntegerField(default=0)),
            ("headers", models.JSONField(default=dict)),
            ("answer", models.TextField(default="", help_text="the JSON text that was answered")),
            ("created_at", models.DateTimeField(db_default=Now())),
        ],
        options={
            "db_table": "gp_idempotency_key",
            "indexes": [models.Index(fields=["created_at"], name="gp_idempotency_age")],
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace_id", "user_id", "key"), name="gp_idempotency_once"
                )
            ],
        },
    ),
    # A server that clients reach through the gateway, under its name.
    migrations.CreateModel(
        name="McpServer",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("name", models.CharField(max_length=40)),
            ("transport", models.CharField(max_length=10)),
            ("url", models.CharField(blank=True, default="", max_length=500)),
            ("command", models.JSONField(default=list)),
            ("credential", models.CharField(blank=True, default="", max_length=100)),
            ("credential_to", models.CharField(blank=True, default="", max_length=100)),
            ("active", models.BooleanField(default=True)),
            ("made_by", models.CharField(max_length=200)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("resources", models.CharField(db_default="policies", max_length=10)),
            ("prompts", models.CharField(db_default="policies", max_length=10)),
            ("completions", models.CharField(db_default="policies", max_length=10)),
        ],
        options={
            "verbose_name": "MCP server",
            "db_table": "gp_mcp_server",
            "constraints": [
                models.UniqueConstraint(fields=("workspace_id", "name"), name="gp_mcp_server_name"),
                models.CheckConstraint(
                    condition=models.Q(("transport__in", ("http", "command"))),
                    name="gp_mcp_server_transport",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        ("completions__in", ("policies", "ask", "refuse")),
                        ("prompts__in", ("policies", "ask", "refuse")),
                        ("resources__in", ("policies", "ask", "refuse")),
                    ),
                    name="gp_mcp_server_modes",
                ),
            ],
        },
    ),
    # A tool of a server: its definition as an admin accepted it, and as it was last listed.
    migrations.CreateModel(
        name="McpTool",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("name", models.CharField(max_length=128)),
            ("mode", models.CharField(default="policies", max_length=10)),
            ("accepted", models.JSONField(null=True)),
            ("accepted_hash", models.CharField(blank=True, default="", max_length=64)),
            ("accepted_by", models.CharField(blank=True, default="", max_length=200)),
            ("listed", models.JSONField()),
            ("listed_hash", models.CharField(max_length=64)),
            ("listed_at", models.DateTimeField(db_default=Now())),
            (
                "server",
                models.ForeignKey(
                    db_index=False,
                    on_delete=models.PROTECT,
                    related_name="+",
                    to="dashboard.mcpserver",
                ),
            ),
        ],
        options={
            "verbose_name": "MCP tool",
            "db_table": "gp_mcp_tool",
            "constraints": [
                models.UniqueConstraint(fields=("server", "name"), name="gp_mcp_tool_name"),
                models.CheckConstraint(
                    condition=models.Q(("mode__in", ("policies", "ask", "refuse"))),
                    name="gp_mcp_tool_mode",
                ),
            ],
        },
    ),
    # A page under a name, of the person who saved it; the workspace sees one that is shared.
    migrations.CreateModel(
        name="SavedView",
        fields=[
            (
                "id",
                models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False),
            ),
            ("workspace_id", models.UUIDField()),
            ("owner", models.CharField(help_text="a person, such as user:7", max_length=200)),
            ("name", models.CharField(max_length=60)),
            ("address", models.TextField()),
            ("shared", models.BooleanField(default=False)),
            ("created_at", models.DateTimeField(db_default=Now())),
            ("surface", models.CharField(db_default="board", max_length=20)),
        ],
        options={
            "verbose_name": "saved view",
            "db_table": "gp_saved_view",
            "constraints": [
                models.UniqueConstraint(
                    fields=("workspace_id", "owner", "name"), name="gp_saved_view_name"
                ),
                models.CheckConstraint(
                    condition=models.Q(("surface__in", ("board", "records"))),
                    name="gp_saved_view_surface",
                ),
            ],
        },
    ),
)
