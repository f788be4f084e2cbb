"""Functions and triggers in plain SQL: the hash link, append-only logs, allowed transitions."""

from django.db import migrations

LINK = """
CREATE FUNCTION gp_link(chain uuid, seq bigint, kind text, v integer, actor text,
                        at timestamptz, data_hash bytea, prev bytea)
RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(
    'gatepost-event-1|' || chain::text || '|' || seq::text || '|' || kind || '|' || v::text
    || '|' || actor || '|' || (extract(epoch FROM at) * 1000000)::bigint::text
    || '|' || encode(data_hash, 'hex') || '|' || encode(prev, 'hex'), 'UTF8'))
$$;
"""

# The transaction id makes a gapless reading position across threads possible.
XID = """
ALTER TABLE gp_event ADD COLUMN xid8 xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX gp_event_feed ON gp_event (xid8, thread_id, seq);
ALTER TABLE gp_event ADD CONSTRAINT gp_event_kind CHECK (kind ~ '^[a-z]+[.][a-z_]+$');
ALTER TABLE gp_event ADD CONSTRAINT gp_event_actor CHECK (position('|' in actor) = 0);
"""

APPEND_ONLY = """
CREATE FUNCTION gp_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: the log is append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER gp_event_row BEFORE UPDATE OR DELETE ON gp_event
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_event_table BEFORE TRUNCATE ON gp_event
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_checkpoint_row BEFORE UPDATE OR DELETE ON gp_checkpoint
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_checkpoint_table BEFORE TRUNCATE ON gp_checkpoint
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_version_row BEFORE UPDATE OR DELETE ON gp_agent_version
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_version_table BEFORE TRUNCATE ON gp_agent_version
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_thread_kept BEFORE DELETE ON gp_thread
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_thread_table BEFORE TRUNCATE ON gp_thread
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""

# Repeats checkpoints.states.TRANSITIONS; a test compares the two.
TRANSITIONS = """
CREATE FUNCTION gp_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.status || '>' || NEW.status) NOT IN (
    'attention>cancelled', 'attention>queued', 'attention>rolling_back',
    'cancelled>rolling_back',
    'failed>cancelled', 'failed>queued', 'failed>rolling_back',
    'paused>cancelled', 'paused>queued', 'paused>rolling_back',
    'queued>attention', 'queued>cancelled', 'queued>paused', 'queued>rolling_back',
    'queued>running',
    'rolling_back>attention', 'rolling_back>paused', 'rolling_back>queued',
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
CREATE TRIGGER gp_thread_transition BEFORE UPDATE OF status ON gp_thread
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION gp_transition();
"""

# Free space on each page of the one table that steps update keeps those updates heap-only.
STORAGE = """
ALTER TABLE gp_thread SET (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE gp_activity SET (fillfactor = 85);
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0001_initial")]
    operations = [
        migrations.RunSQL(sql, migrations.RunSQL.noop)
        for sql in (LINK, XID, APPEND_ONLY, TRANSITIONS, STORAGE)
    ]
