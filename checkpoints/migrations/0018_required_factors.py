"""Roles of a workspace that need a second factor beside a password."""

from django.db import migrations, models
from django.db.models import Value


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0017_anchors")]
    operations = [
        migrations.AddField(
            model_name="workspace",
            name="second_factor_roles",
            field=models.JSONField(
                db_default=Value([], models.JSONField()),
                default=list,
                help_text="roles that need a second factor beside a password",
            ),
        ),
    ]
