"""Outside identities count once their person confirmed them; those that are there go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0010_spend_reservations")]
    operations = [
        migrations.AddField(
            "hookidentity",
            "confirmed_by",
            models.CharField(max_length=200, blank=True, db_default="before"),
        ),
        migrations.AlterField(
            "hookidentity",
            "confirmed_by",
            models.CharField(max_length=200, blank=True, db_default=""),
        ),
    ]
