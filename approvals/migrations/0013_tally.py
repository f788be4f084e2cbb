"""Columns for who has voted and whose turn it is; 0017 fills them in the requests that are there."""

from django.db import migrations, models

import approvals.models


class Migration(migrations.Migration):
    dependencies = (("approvals", "0012_policies_asked"),)
    operations = (
        migrations.AddField("approval", "tally", models.JSONField(null=True)),
        migrations.AddField("approval", "due_seats", approvals.models.Names(db_default="{}")),
        migrations.AddField("approval", "due_except", approvals.models.Names(db_default="{}")),
        migrations.AddConstraint(
            "approval",
            models.CheckConstraint(
                condition=models.Q(("status", "pending"), ("due_seats", "{}"), _connector="OR"),
                name="gp_approval_nobody_due",
            ),
        ),
    )
