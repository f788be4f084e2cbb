"""Saved views of the records' search, beside those of the board."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0006_second_factors")]

    operations = [
        migrations.AddField(
            model_name="savedview",
            name="surface",
            field=models.CharField(db_default="board", max_length=20),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.CheckConstraint(
                condition=models.Q(surface__in=("board", "records")), name="gp_saved_view_surface"
            ),
        ),
    ]
