-- gp_thread_news: puts a change of a thread's status into the outbox where an endpoint wants to
-- hear of it. A trigger and no code: steps, people, sweeps and rollbacks all end or stop threads,
-- and none of them can forget it.
CREATE FUNCTION gp_thread_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gp_outbox (id, workspace_id, kind, thread_id, checkpoint_id, data)
  SELECT gen_random_uuid(), NEW.workspace_id, 'thread.' || NEW.status, NEW.id, NEW.head,
    jsonb_build_object('status', NEW.status, 'reason', left(NEW.status_reason, 2000),
      'agent', NEW.agent, 'title', NEW.title, 'name', NEW.name, 'version', NEW.version,
      'checkpoint_number', NEW.number, 'labels', NEW.labels)
  WHERE EXISTS (SELECT 1 FROM gp_endpoint e WHERE e.workspace_id = NEW.workspace_id
    AND e.active AND jsonb_exists(e.events, 'thread.' || NEW.status));
  RETURN NULL;
END$$;
COMMENT ON FUNCTION gp_thread_news() IS
  'Puts a change of a thread''s status into the outbox where an endpoint wants to hear of it.';
-- Steps do not set the status, so they do not meet the trigger.
CREATE TRIGGER gp_thread_news AFTER UPDATE OF status ON gp_thread FOR EACH ROW
  WHEN (NEW.status IN ('succeeded', 'failed', 'cancelled', 'attention', 'paused')
    AND NEW.status IS DISTINCT FROM OLD.status)
  EXECUTE FUNCTION gp_thread_news();
