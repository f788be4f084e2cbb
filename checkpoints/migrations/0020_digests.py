"""Some checkpoints keep the digests of their state: a changed fork no longer reads the state."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0019_rare_events")]
    operations = [migrations.AddField("checkpoint", "digests", models.BinaryField(null=True))]
