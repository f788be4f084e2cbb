"""A thread whose effects were undone may end: failed, or cancelled by the person who wanted that."""

from django.db import migrations

# Repeats checkpoints.states.TRANSITIONS; a test compares the two.
TRANSITIONS = """
CREATE OR REPLACE FUNCTION gp_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.status || '>' || NEW.status) NOT IN (
    'attention>cancelled', 'attention>queued', 'attention>rolling_back',
    'cancelled>rolling_back',
    'failed>cancelled', 'failed>queued', 'failed>rolling_back',
    'paused>cancelled', 'paused>queued', 'paused>rolling_back',
    'queued>attention', 'queued>cancelled', 'queued>paused', 'queued>rolling_back',
    'queued>running',
    'rolling_back>attention', 'rolling_back>cancelled', 'rolling_back>failed',
    'rolling_back>paused', 'rolling_back>queued',
    'running>attention', 'running>cancelled', 'running>failed', 'running>paused',
    'running>queued', 'running>rolling_back', 'running>sleeping', 'running>succeeded',
    'running>waiting',
    'sleeping>cancelled', 'sleeping>paused', 'sleeping>queued', 'sleeping>rolling_back',
    'succeeded>rolling_back',
    'waiting>cancelled', 'waiting>paused', 'waiting>queued', 'waiting>rolling_back'
  ) THEN
    RAISE EXCEPTION 'a thread cannot go from % to %', OLD.status, NEW.status
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0014_savings")]
    operations = [migrations.RunSQL(TRANSITIONS, migrations.RunSQL.noop)]
