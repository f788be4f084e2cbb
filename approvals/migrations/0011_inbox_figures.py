"""What the planner has to know of the boxes: how many are due, and how many of which risk."""

from django.db import migrations

# Of an expression in a partial index it believes no figures, and takes a third of all to be due.
FIGURES = {
    "gp_approval_dues": "coalesce(decide_by, deadline, 'infinity'::timestamptz)",
    "gp_approval_risks": "gp_risk(risk)",
}


class Migration(migrations.Migration):
    dependencies = [("approvals", "0010_turns")]
    operations = [
        *(
            migrations.RunSQL(
                f"CREATE STATISTICS IF NOT EXISTS {name} ON ({what}) FROM gp_approval",
                f"DROP STATISTICS IF EXISTS {name}",
            )
            for name, what in FIGURES.items()
        ),
        migrations.RunSQL("ANALYZE gp_approval", migrations.RunSQL.noop),
    ]
