"""News of damaged records: a workspace has no thread, and who hears of requests hears of these."""

from django.db import migrations, models

# Webhooks that get everything go on to get everything; what somebody picked out is left as it is.
ALARMS = """
UPDATE gp_endpoint SET events = events || '["record.damaged"]'
WHERE NOT jsonb_exists(events, 'record.damaged') AND jsonb_exists(events, 'approval.requested')
  AND (kind <> 'webhook' OR jsonb_array_length(events) >= 7)
"""
NO_ALARMS = "UPDATE gp_endpoint SET events = events - 'record.damaged'"


class Migration(migrations.Migration):
    dependencies = (("approvals", "0014_repeats"),)
    operations = (
        migrations.AlterField("news", "thread_id", models.UUIDField(null=True)),
        migrations.RunSQL(ALARMS, NO_ALARMS),
    )
