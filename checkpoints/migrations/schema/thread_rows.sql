-- gp_transition: refuses a change of a thread's status that the life of a thread does not have. The
-- list repeats checkpoints.states.TRANSITIONS; a test compares the two.
CREATE FUNCTION gp_transition() RETURNS trigger LANGUAGE plpgsql AS $$
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
-- After and not before: PostgreSQL locks the row once more for each BEFORE trigger of a table, also
-- in updates that the trigger is not for.
CREATE TRIGGER gp_thread_transition AFTER UPDATE OF status ON gp_thread
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION gp_transition();

-- Free space on each page of the one table that steps update keeps those updates heap-only.
ALTER TABLE gp_thread SET (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
