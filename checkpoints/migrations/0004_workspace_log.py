"""Each workspace gets a log of its own: who belongs to it and who was given which right."""

import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


# The same domains, the same refusals and the same link as the logs of threads.
APPEND_ONLY = """
ALTER TABLE gp_workspace_event ALTER kind TYPE gp_event_kind, ALTER actor TYPE gp_event_actor;
CREATE TRIGGER gp_workspace_event_row BEFORE UPDATE OR DELETE ON gp_workspace_event
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_event_table BEFORE TRUNCATE ON gp_workspace_event
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_kept BEFORE DELETE ON gp_workspace
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_table BEFORE TRUNCATE ON gp_workspace
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('checkpoints', '0003_domains'),
    ]

    operations = [
        migrations.CreateModel(
            name='WorkspaceEvent',
            fields=[
                ('pk', models.CompositePrimaryKey('workspace_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkpoints.workspace')),
                ('seq', models.BigIntegerField()),
                ('kind', models.CharField(max_length=50)),
                ('v', models.SmallIntegerField(default=1)),
                ('actor', models.CharField(max_length=200)),
                ('data', models.JSONField()),
                ('salt', models.BinaryField()),
                ('data_hash', models.BinaryField()),
                ('at', models.DateTimeField()),
                ('prev_hash', models.BinaryField()),
                ('hash', models.BinaryField()),
            ],
            options={
                'db_table': 'gp_workspace_event',
            },
        ),
        migrations.AddField(
            model_name='workspace',
            name='chain_id',
            field=models.UUIDField(db_default=django.contrib.postgres.functions.RandomUUID(), editable=False),
        ),
        migrations.AddField(
            model_name='workspace',
            name='last_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name='workspace',
            name='last_hash',
            field=models.BinaryField(db_default=models.Value(b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00')),
        ),
        migrations.AddField(
            model_name='workspace',
            name='last_seq',
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='workspace',
            name='prev_hash',
            field=models.BinaryField(db_default=models.Value(b'')),
        ),
        migrations.AddIndex(
            model_name='worker',
            index=models.Index(fields=['-started_at', '-id'], name='gp_worker_started'),
        ),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
