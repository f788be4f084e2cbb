"""What decides about resources, prompts and completions of an MCP server."""

from django.db import migrations, models

MODES = ("policies", "ask", "refuse")
GROUPS = ("resources", "prompts", "completions")


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0009_keyed_digests")]

    operations = [
        *(
            migrations.AddField(
                "mcpserver", group, models.CharField(db_default="policies", max_length=10)
            )
            for group in GROUPS
        ),
        migrations.AddConstraint(
            "mcpserver",
            models.CheckConstraint(
                condition=models.Q(**{f"{group}__in": MODES for group in GROUPS}),
                name="gp_mcp_server_modes",
            ),
        ),
    ]
