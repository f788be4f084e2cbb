"""What a request demands, what stands after an edit or an escalation, and the outbox."""

import django.db.models.functions.comparison
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0004_imports'),
    ]

    operations = [
        migrations.CreateModel(
            name='News',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workspace_id', models.UUIDField()),
                ('kind', models.CharField(max_length=40)),
                ('thread_id', models.UUIDField()),
                ('checkpoint_id', models.UUIDField(null=True)),
                ('approval_id', models.UUIDField(null=True)),
                ('data', models.JSONField(default=dict)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('done_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name_plural': 'news',
                'db_table': 'gp_outbox',
            },
        ),
        migrations.RemoveConstraint(
            model_name='decision',
            name='gp_decision_verdict',
        ),
        migrations.AddField(
            model_name='approval',
            name='decide_by',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='approval',
            name='escalated_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='approval',
            name='reminded',
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='approval',
            name='standing_args',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='approval',
            name='standing_hash',
            field=models.CharField(blank=True, db_default='', max_length=64),
        ),
        migrations.AddField(
            model_name='approval',
            name='terms',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='approval',
            name='what_next',
            field=models.CharField(blank=True, db_default='', max_length=10),
        ),
        migrations.AddField(
            model_name='decision',
            name='what_next',
            field=models.CharField(blank=True, db_default='', max_length=10),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(condition=models.Q(('status', 'held')), fields=['effective_at'], name='gp_approval_held'),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(django.db.models.functions.comparison.Coalesce('decide_by', 'deadline'), condition=models.Q(('status', 'pending')), name='gp_approval_due'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(('what_next__in', ('', 'go_on', 'stop', 'roll_back'))), name='gp_approval_what_next'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ('approve', 'edit', 'respond', 'reject', 'take_back'))), name='gp_decision_verdict'),
        ),
        migrations.AddIndex(
            model_name='news',
            index=models.Index(condition=models.Q(('done_at', None)), fields=['at', 'id'], name='gp_outbox_open'),
        ),
    ]
