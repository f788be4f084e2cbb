"""Who is told what: endpoints and their deliveries; which requests still have a reminder."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


# Requests with a reminder to come; the sweep looks for them every few seconds.
REMINDS = """
CREATE INDEX gp_approval_reminds ON gp_approval (requested_at)
  WHERE status = 'pending' AND jsonb_array_length(terms -> 'reminders') > reminded
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0006_policies'),
    ]

    operations = [
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('kind', models.CharField(max_length=10)),
                ('name', models.CharField(max_length=100)),
                ('target', models.CharField(blank=True, default='', max_length=200)),
                ('address', models.TextField(blank=True, default='')),
                ('secrets', models.JSONField(default=list)),
                ('events', models.JSONField(default=list)),
                ('digest', models.SmallIntegerField(default=0, help_text='minutes')),
                ('people', models.JSONField(default=list)),
                ('teams', models.JSONField(default=list)),
                ('active', models.BooleanField(default=True)),
                ('made_by', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'db_table': 'gp_endpoint',
                'constraints': [models.UniqueConstraint(fields=('workspace_id', 'name'), name='gp_endpoint_name'), models.CheckConstraint(condition=models.Q(('kind__in', ('email', 'apprise', 'webhook'))), name='gp_endpoint_kind')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('news_id', models.UUIDField()),
                ('kind', models.CharField(max_length=40)),
                ('recipient', models.CharField(blank=True, default='', max_length=254)),
                ('webhook_id', models.CharField(max_length=40)),
                ('attempts', models.SmallIntegerField(default=0)),
                ('next_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('claim', models.UUIDField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('parcel', models.UUIDField(null=True)),
                ('code', models.SmallIntegerField(null=True)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('skipped', models.CharField(blank=True, default='', max_length=100)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('done_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.endpoint')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'db_table': 'gp_delivery',
                'indexes': [models.Index(condition=models.Q(('done_at', None), ('failed_at', None)), fields=['endpoint', 'next_at'], name='gp_delivery_open'), models.Index(fields=['endpoint', 'recipient', 'done_at'], name='gp_delivery_sent'), models.Index(condition=models.Q(('claim', None), _negated=True), fields=['claim'], name='gp_delivery_claim'), models.Index(condition=models.Q(('claim', None), _negated=True), fields=['endpoint', 'claimed_until'], name='gp_delivery_busy'), models.Index(fields=['workspace_id', 'id'], name='gp_delivery_place'), models.Index(fields=['endpoint', 'id'], name='gp_delivery_newest'), models.Index(condition=models.Q(('failed_at', None), _negated=True), fields=['endpoint', 'failed_at'], name='gp_delivery_failed'), models.Index(condition=models.Q(('error', ''), _negated=True), fields=['endpoint', 'id'], name='gp_delivery_error')],
                'constraints': [models.UniqueConstraint(fields=('news_id', 'endpoint', 'recipient'), name='gp_delivery_once')],
            },
        ),
        migrations.RunSQL(REMINDS, 'DROP INDEX gp_approval_reminds'),
    ]
