"""Indexes that no statement reads go: another one begins with the same columns, or LIKE asks none."""

import django.db.models.deletion
from django.db import migrations, models

# {index: its definition}
UNUSED = {
    "gp_artifact_workspace_id_67fef87d": "gp_artifact (workspace_id)",
    "gp_membership_workspace_id_2a2d3723": "gp_membership (workspace_id)",
    "gp_stuck_noted": "gp_stuck (workspace_id, noted_at DESC)",
    "gp_anchor_destination_name_16154a68_like": (
        "gp_anchor_destination (name varchar_pattern_ops)"
    ),
    "gp_duty_name_8ca5e0f2_like": "gp_duty (name varchar_pattern_ops)",
    "gp_span_export_name_d77186bb_like": "gp_span_export (name varchar_pattern_ops)",
    "gp_worker_id_5928394b_like": "gp_worker (id varchar_pattern_ops)",
    "gp_workspace_name_3f8a097e_like": "gp_workspace (name varchar_pattern_ops)",
}


def drop(indexes, state_operations=()):
    """Drop indexes while their tables are read and written; models forget them at once."""
    return migrations.SeparateDatabaseAndState(
        database_operations=[
            migrations.RunSQL(
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {columns}",
            )
            for name, columns in indexes.items()
        ],
        state_operations=list(state_operations),
    )


def _of_workspace():
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to="checkpoints.workspace",
        db_index=False,
    )


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0030_automatic_title")]
    operations = [
        drop(
            UNUSED,
            [
                migrations.AlterField("artifact", "workspace", _of_workspace()),
                migrations.AlterField("membership", "workspace", _of_workspace()),
                migrations.RemoveIndex("stuck", "gp_stuck_noted"),
            ],
        )
    ]
