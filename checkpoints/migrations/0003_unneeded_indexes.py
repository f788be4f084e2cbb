"""Drop indexes that no statement needs, from databases that were made with them.

One over what calls cost or used takes the place of two.
"""

from django.db import migrations

CREATE = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS gp_activity_usage ON gp_activity (workspace_id, finished_at)
WHERE usage ? 'cost' OR usage ? 'tokens'
"""
UNNEEDED = ("gp_activity_spent", "gp_activity_tokens", "gp_child_order", "gp_budget_band_month")


def drop(*names: str) -> migrations.RunSQL:
    """Drop indexes while their tables are read and written."""
    statements = [f"DROP INDEX CONCURRENTLY IF EXISTS {name}" for name in names]
    return migrations.RunSQL(statements, migrations.RunSQL.noop)


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0002_like_indexes")]
    operations = [migrations.RunSQL(CREATE, migrations.RunSQL.noop), drop(*UNNEEDED)]
