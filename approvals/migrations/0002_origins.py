"""On whose behalf a child asks: its parents, sealed with its request."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_schema")]
    operations = [migrations.AddField("approval", "origin", models.JSONField(null=True))]
