"""The threads of a workspace are found by three other indexes that begin with it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('checkpoints', '0016_pinned'),
    ]

    operations = [
        migrations.AlterField(
            model_name='thread',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkpoints.workspace'),
        ),
    ]
