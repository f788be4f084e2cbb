"""Who hears of requests by mail or chat hears of their turn in them, too."""

from django.db import migrations

# Webhooks that get everything go on to get everything; what somebody picked out is left as it is.
TURNS = """
UPDATE gp_endpoint SET events = events || '["approval.turn"]'
WHERE NOT jsonb_exists(events, 'approval.turn') AND jsonb_exists(events, 'approval.requested')
  AND (kind <> 'webhook' OR jsonb_array_length(events) = 6)
"""
NO_TURNS = "UPDATE gp_endpoint SET events = events - 'approval.turn'"


class Migration(migrations.Migration):
    dependencies = (("approvals", "0009_inbox"),)
    operations = (migrations.RunSQL(TURNS, NO_TURNS),)
