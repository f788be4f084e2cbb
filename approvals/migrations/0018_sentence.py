from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("approvals", "0017_votes_counted"),)

    operations = (
        migrations.AddField(
            model_name="approval",
            name="sentence",
            field=models.CharField(blank=True, db_default="", max_length=300),
        ),
    )
