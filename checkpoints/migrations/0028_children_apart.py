"""Days are added up again: threads that others started count apart from now on."""

from django.db import migrations

# A cache; the sweep makes its rows anew, and until then the overview counts these days itself.
DROP = ["DELETE FROM gp_day_figure", "DELETE FROM gp_folded_day"]


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0027_open_effects")]
    operations = [migrations.RunSQL(DROP, migrations.RunSQL.noop)]
