"""Policies that refuse by themselves: a third action beside asking and allowing.

The new constraint takes all that the old one took, so code of before goes on writing.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0011_confirmed_identities")]
    operations = [
        migrations.RemoveConstraint("policyversion", "gp_policy_version_action"),
        migrations.AddConstraint(
            "policyversion",
            models.CheckConstraint(
                condition=models.Q(("action__in", ("ask", "allow", "block"))),
                name="gp_policy_version_action",
            ),
        ),
    ]
