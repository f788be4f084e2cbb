"""Policies with their versions, spend caps, and what became of approved operations."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models

APPEND_ONLY = """
CREATE TRIGGER gp_policy_kept BEFORE DELETE ON gp_policy
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_table BEFORE TRUNCATE ON gp_policy
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_version_row BEFORE UPDATE OR DELETE ON gp_policy_version
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_version_table BEFORE TRUNCATE ON gp_policy_version
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_carried_out_row BEFORE UPDATE OR DELETE ON gp_carried_out
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_carried_out_table BEFORE TRUNCATE ON gp_carried_out
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0005_terms'),
    ]

    operations = [
        migrations.CreateModel(
            name='CarriedOut',
            fields=[
                ('approval', models.OneToOneField(db_column='approval_id', on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='approvals.approval')),
                ('workspace_id', models.UUIDField()),
                ('outcome', models.CharField(max_length=10)),
                ('said', models.TextField(blank=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'verbose_name_plural': 'carried out',
                'db_table': 'gp_carried_out',
                'constraints': [models.CheckConstraint(condition=models.Q(('outcome__in', ('done', 'failed'))), name='gp_carried_out_outcome')],
            },
        ),
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('name', models.CharField(max_length=100)),
                ('position', models.IntegerField()),
                ('active', models.BooleanField(default=True)),
                ('number', models.IntegerField(default=1)),
            ],
            options={
                'verbose_name_plural': 'policies',
                'db_table': 'gp_policy',
                'indexes': [models.Index(fields=['workspace_id', 'position', 'id'], name='gp_policy_order')],
                'constraints': [models.UniqueConstraint(fields=('workspace_id', 'name'), name='gp_policy_name')],
            },
        ),
        migrations.CreateModel(
            name='SpendCap',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('scope', models.CharField(max_length=10)),
                ('agent', models.CharField(blank=True, max_length=100)),
                ('per', models.CharField(max_length=10)),
                ('max_cost', models.DecimalField(decimal_places=6, max_digits=18)),
                ('active', models.BooleanField(default=True)),
            ],
            options={
                'db_table': 'gp_spend_cap',
                'constraints': [models.UniqueConstraint(fields=('workspace_id', 'scope', 'agent', 'per'), name='gp_spend_cap_once'), models.CheckConstraint(condition=models.Q(('scope__in', ('thread', 'agent', 'workspace')), ('per__in', ('total', 'day')), ('max_cost__gte', 0)), name='gp_spend_cap_words')],
            },
        ),
        migrations.CreateModel(
            name='PolicyVersion',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('condition', models.TextField()),
                ('action', models.CharField(max_length=10)),
                ('terms', models.JSONField()),
                ('deadline', models.FloatField(null=True)),
                ('risk', models.CharField(blank=True, max_length=10)),
                ('title', models.CharField(blank=True, max_length=300)),
                ('note', models.TextField(blank=True)),
                ('made_by', models.CharField(max_length=200)),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.policy')),
            ],
            options={
                'db_table': 'gp_policy_version',
                'constraints': [models.UniqueConstraint(fields=('policy', 'number'), name='gp_policy_version_number'), models.CheckConstraint(condition=models.Q(('action__in', ('ask', 'allow'))), name='gp_policy_version_action')],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop),
    ]
