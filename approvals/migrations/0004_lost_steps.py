"""Let an incident be about steps that the hot store has lost."""

from django.db import migrations, models

KINDS = (
    "record.damaged",
    "steps.lost",
    "breaker.tripped",
    "thread.attention",
    "thread.failed",
    "thread.over_budget",
    "thread.stuck",
)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_decisions_by_day")]
    operations = [
        migrations.RemoveConstraint("Incident", "gp_incident_kind"),
        migrations.AddConstraint(
            "Incident",
            models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="gp_incident_kind"),
        ),
    ]
