"""Let an ephemeral thread that has ended take its next message, and index what its turns cost.

Its head is its own id. That it leaves an hour in which its end was counted is not noted: it does so
with each turn, and figures are added up again every half an hour.
"""

from django.db import migrations

TRANSITIONS = """
CREATE OR REPLACE FUNCTION gp_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.status || '>' || NEW.status) NOT IN (
    'attention>cancelled', 'attention>queued', 'attention>rolling_back',
    'cancelled>rolling_back',
    'failed>cancelled', 'failed>queued', 'failed>rolling_back',
    'failed>running',
    'paused>cancelled', 'paused>queued', 'paused>rolling_back',
    'queued>attention', 'queued>cancelled', 'queued>paused', 'queued>rolling_back',
    'queued>running',
    'rolling_back>attention', 'rolling_back>cancelled', 'rolling_back>failed',
    'rolling_back>paused', 'rolling_back>queued',
    'running>attention', 'running>cancelled', 'running>failed', 'running>paused',
    'running>queued', 'running>rolling_back', 'running>sleeping', 'running>succeeded',
    'running>waiting',
    'sleeping>cancelled', 'sleeping>paused', 'sleeping>queued', 'sleeping>rolling_back',
    'succeeded>rolling_back', 'succeeded>running',
    'waiting>cancelled', 'waiting>paused', 'waiting>queued', 'waiting>rolling_back'
  ) THEN
    RAISE EXCEPTION 'a thread cannot go from % to %', OLD.status, NEW.status
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
"""
FIGURES = """
CREATE OR REPLACE TRIGGER gp_figure_changed AFTER UPDATE OF status ON gp_thread FOR EACH ROW
  WHEN (OLD.status IN ('succeeded', 'failed', 'cancelled')
    AND NEW.status IS DISTINCT FROM OLD.status AND OLD.head <> OLD.id)
  EXECUTE FUNCTION gp_figure_changed()
"""
# An attempt that was cut short begins again.
FORMER = "DROP INDEX CONCURRENTLY IF EXISTS gp_event_turns"
INDEX = """
CREATE INDEX CONCURRENTLY gp_event_turns ON gp_event (workspace_id, at)
WHERE kind IN ('thread.succeeded', 'thread.failed', 'thread.paused', 'thread.handed_back')
  AND data ? 'usage'
"""


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("checkpoints", "0005_signals_on_record")]
    operations = [
        migrations.RunSQL(TRANSITIONS, migrations.RunSQL.noop),
        migrations.RunSQL(FIGURES, migrations.RunSQL.noop),
        migrations.RunSQL(FORMER, migrations.RunSQL.noop),
        migrations.RunSQL(INDEX, migrations.RunSQL.noop),
    ]
