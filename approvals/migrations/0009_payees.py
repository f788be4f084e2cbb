"""Indexes over the payees of requests and of what reviewers edited them to."""

from importlib import import_module

from django.db import migrations

SHORT_LIST = import_module("checkpoints.migrations.0025_payees").SHORT_LIST
INDEXES = {
    "gp_approval_payee": f"gp_approval USING gin (gp_payee_trigrams(args)) {SHORT_LIST}",
    "gp_decision_payee": (
        f"gp_decision USING gin (gp_payee_trigrams(args)) {SHORT_LIST} WHERE args IS NOT NULL"
    ),
}


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("approvals", "0008_device_keys"), ("checkpoints", "0025_payees")]
    operations = [
        operation
        for name, columns in INDEXES.items()
        for operation in (
            migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
            migrations.RunSQL(
                f"CREATE INDEX CONCURRENTLY {name} ON {columns}",
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            ),
        )
    ]
