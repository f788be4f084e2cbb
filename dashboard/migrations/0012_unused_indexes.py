"""Indexes that no statement reads go: another one begins with the same columns, or LIKE asks none."""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

drop = import_module("checkpoints.migrations.0031_unused_indexes").drop
UNUSED = {
    "gp_identity_user_id_3a17febe": "gp_identity (user_id)",
    "gp_mcp_tool_server_id_dc4d5824": "gp_mcp_tool (server_id)",
    "gp_sign_in_session_key_9fe9dd32_like": "gp_sign_in (session_key varchar_pattern_ops)",
    "gp_token_prefix_64ab6e93_like": "gp_token (prefix varchar_pattern_ops)",
}


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [
        ("dashboard", "0011_access_changes"),
        ("checkpoints", "0031_unused_indexes"),
    ]
    operations = [
        drop(
            UNUSED,
            [
                migrations.AlterField(
                    "identity",
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        db_index=False,
                    ),
                ),
                migrations.AlterField(
                    "mcptool",
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="dashboard.mcpserver",
                        db_index=False,
                    ),
                ),
            ],
        )
    ]
