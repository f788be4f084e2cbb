-- gp_figure_changed: notes that a thread leaves a status in which its end was counted, so that the
-- figures of that hour and day are added up again. A trigger and no code: retries, rollbacks and
-- cancellations all do so, and none of them can forget it. Rows are appended: nobody waits.
CREATE FUNCTION gp_figure_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gp_figure_change (workspace_id, unit, at, id)
  SELECT OLD.workspace_id, u.unit, date_trunc(u.unit, OLD.status_since, 'UTC'), gen_random_uuid()
  FROM (VALUES ('hour'), ('day')) AS u (unit);
  RETURN NULL;
END $$;
CREATE TRIGGER gp_figure_changed AFTER UPDATE OF status ON gp_thread FOR EACH ROW
  WHEN (OLD.status IN ('succeeded', 'failed', 'cancelled')
    AND NEW.status IS DISTINCT FROM OLD.status)
  EXECUTE FUNCTION gp_figure_changed();
