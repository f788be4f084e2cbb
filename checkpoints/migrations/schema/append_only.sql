-- gp_refuse: the body of every trigger that keeps rows. Where it refuses updates and deletes the
-- table is a log; where it refuses deletes only, rows change but stay. The rights of the runtime
-- role follow from these triggers (checkpoints.postgres.roles).
CREATE FUNCTION gp_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: the log is append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;

-- Logs: rows are added and never changed. TRUNCATE fires no row triggers, so it has its own. The
-- guards of rows that an erasure may blank stand in erasure.sql.
CREATE TRIGGER gp_event_table BEFORE TRUNCATE ON gp_event
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_checkpoint_table BEFORE TRUNCATE ON gp_checkpoint
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_content_table BEFORE TRUNCATE ON gp_content
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_version_row BEFORE UPDATE OR DELETE ON gp_agent_version
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_version_table BEFORE TRUNCATE ON gp_agent_version
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_announcement_row BEFORE UPDATE OR DELETE ON gp_agent_announcement
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_announcement_table BEFORE TRUNCATE ON gp_agent_announcement
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_event_row BEFORE UPDATE OR DELETE ON gp_workspace_event
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_event_table BEFORE TRUNCATE ON gp_workspace_event
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();

-- Threads and workspaces change, and stay.
CREATE TRIGGER gp_thread_kept BEFORE DELETE ON gp_thread
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_thread_table BEFORE TRUNCATE ON gp_thread
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_kept BEFORE DELETE ON gp_workspace
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_workspace_table BEFORE TRUNCATE ON gp_workspace
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
