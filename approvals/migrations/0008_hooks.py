"""Inbound hooks: who outside may carry decisions here, for whom, and what was answered."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


APPEND_ONLY = """
CREATE TRIGGER gp_hook_delivery_row BEFORE UPDATE OR DELETE ON gp_hook_delivery
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hook_delivery_table BEFORE TRUNCATE ON gp_hook_delivery
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0007_notify'),
    ]

    operations = [
        migrations.CreateModel(
            name='Hook',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('name', models.CharField(max_length=40)),
                ('secrets', models.JSONField(default=list)),
                ('active', models.BooleanField(db_default=True)),
                ('made_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('rotated_at', models.DateTimeField(null=True)),
                ('refused_at', models.DateTimeField(null=True)),
                ('refused', models.BigIntegerField(db_default=0)),
            ],
            options={
                'db_table': 'gp_hook',
                'constraints': [models.UniqueConstraint(fields=('workspace_id', 'name'), name='gp_hook_name')],
            },
        ),
        migrations.CreateModel(
            name='HookDelivery',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('webhook_id', models.CharField(max_length=255)),
                ('body_hash', models.BinaryField(help_text='sha256 of the body as it came')),
                ('approval_id', models.UUIDField()),
                ('actor', models.CharField(max_length=200)),
                ('status', models.SmallIntegerField()),
                ('answer', models.TextField(help_text='the JSON text that was answered')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('hook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.hook')),
            ],
            options={
                'verbose_name_plural': 'hook deliveries',
                'db_table': 'gp_hook_delivery',
                'constraints': [models.UniqueConstraint(fields=('hook', 'webhook_id'), name='gp_hook_delivery_once')],
            },
        ),
        migrations.CreateModel(
            name='HookIdentity',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('identity', models.CharField(max_length=200)),
                ('user_id', models.BigIntegerField()),
                ('made_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('hook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.hook')),
            ],
            options={
                'verbose_name': 'outside identity',
                'verbose_name_plural': 'outside identities',
                'db_table': 'gp_hook_identity',
                'constraints': [models.UniqueConstraint(fields=('hook', 'identity'), name='gp_hook_identity_once')],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
