-- gp_child_ended: notes in gp_child how a child ended, or that it goes on again, and leaves news
-- for its parent in gp_wake: `child` that it ended, `freed` that a held sibling may begin. One that
-- hands over has a successor in its place and no outcome of its own. A trigger and no code: steps,
-- people, sweeps and rollbacks all end threads, and none of them can forget it.
CREATE FUNCTION gp_child_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended boolean := NEW.status IN ('succeeded', 'failed', 'cancelled');
  former varchar;
  heir uuid;
BEGIN
  SELECT hold, successor INTO former, heir FROM gp_child WHERE child_id = NEW.id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF heir IS NOT NULL AND NEW.status = 'succeeded' THEN
    INSERT INTO gp_child (child_id, workspace_id, parent, fan_out, ordinal, hold, awaited)
    SELECT heir, k.workspace_id, k.parent, k.fan_out, k.ordinal, k.hold, k.awaited
    FROM gp_child k WHERE k.child_id = NEW.id ON CONFLICT DO NOTHING;
    UPDATE gp_child SET outcome = 'handed_off', awaited = NULL,
      hold = CASE WHEN hold <> '' THEN 'passed' ELSE '' END
    WHERE child_id = NEW.id;
    RETURN NULL;
  END IF;
  UPDATE gp_child SET outcome = CASE WHEN ended THEN NEW.status ELSE '' END,
    hold = CASE WHEN ended AND hold <> '' THEN 'passed' ELSE hold END
  WHERE child_id = NEW.id;
  IF ended THEN
    INSERT INTO gp_wake (thread_id, kind, ref) SELECT NEW.parent, k.kind, NEW.id::text
    FROM (VALUES ('child'), ('freed')) AS k (kind) WHERE k.kind = 'child' OR former = 'released'
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER gp_child_ended AFTER UPDATE OF status ON gp_thread FOR EACH ROW
  WHEN (NEW.parent IS NOT NULL AND NEW.status IS DISTINCT FROM OLD.status
    AND (NEW.status IN ('succeeded', 'failed', 'cancelled')
      OR OLD.status IN ('succeeded', 'failed', 'cancelled')))
  EXECUTE FUNCTION gp_child_ended();
