"""Who has voted and whose turn it is, written into each request."""

from django.db import migrations, models

import approvals.models


def count_votes(apps, schema_editor):
    """Fill the new columns of the requests that are there, by the rule that the gate uses."""
    from approvals.gates.tallies import tally_all

    tally_all()


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("approvals", "0012_policies_asked")]
    operations = [
        migrations.AddField(
            model_name="approval",
            name="tally",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="approval",
            name="due_seats",
            field=approvals.models.Names(db_default="{}"),
        ),
        migrations.AddField(
            model_name="approval",
            name="due_except",
            field=approvals.models.Names(db_default="{}"),
        ),
        migrations.RunPython(count_votes, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("status", "pending"), ("due_seats", "{}"), _connector="OR"),
                name="gp_approval_nobody_due",
            ),
        ),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS gp_approval_by_turn", migrations.RunSQL.noop
        ),
        migrations.RunSQL(
            "CREATE INDEX CONCURRENTLY gp_approval_by_turn ON gp_approval USING gin (due_seats) "
            "WHERE status = 'pending'",
            "DROP INDEX CONCURRENTLY IF EXISTS gp_approval_by_turn",
        ),
        # What it led to is read from the column now.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS gp_approval_by_seat", migrations.RunSQL.noop
        ),
        migrations.RunSQL(
            "DROP STATISTICS IF EXISTS gp_approval_seats", migrations.RunSQL.noop
        ),
        migrations.RunSQL("ANALYZE gp_approval", migrations.RunSQL.noop),
    ]
