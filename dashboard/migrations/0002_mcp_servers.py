"""MCP servers behind the gateway, and their tools."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_tokens_and_keys")]

    operations = [
        migrations.CreateModel(
            name="McpServer",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
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
            ],
            options={
                "verbose_name": "MCP server",
                "db_table": "gp_mcp_server",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace_id", "name"), name="gp_mcp_server_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("transport__in", ("http", "command"))),
                        name="gp_mcp_server_transport",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="McpTool",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
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
                        on_delete=django.db.models.deletion.PROTECT,
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
    ]
