-- gp_under_erasure: whether an approved erasure of the thread is not finished.
CREATE FUNCTION gp_under_erasure(of_thread uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM gp_thread th JOIN gp_erasure r ON r.id = th.erasure
    WHERE th.id = of_thread AND r.state = 'approved')
$$;

-- gp_erases: whether an update of a log's row does nothing but blank what an approved erasure of
-- its thread may blank: the row afterwards is the row before, with `blank` in it. It stands in the
-- guards of the logs, so nobody can do more to a log than erase what people have approved, neither
-- the product nor the owner of its tables.
CREATE FUNCTION gp_erases(of_thread uuid, was jsonb, becomes jsonb, blank jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT becomes = was || blank AND gp_under_erasure(of_thread)
$$;

-- The guards of the three logs that hold content. A delete is refused as before, but of contents
-- that lie beside the deltas; an update may only blank.
CREATE TRIGGER gp_event_row BEFORE DELETE ON gp_event FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_event_erasure BEFORE UPDATE ON gp_event FOR EACH ROW
  WHEN (NOT gp_erases(OLD.thread_id, to_jsonb(OLD), to_jsonb(NEW),
    '{"data": {"$erased": true}, "salt": "\\x"}'))
  EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_checkpoint_row BEFORE DELETE ON gp_checkpoint
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_checkpoint_erasure BEFORE UPDATE ON gp_checkpoint FOR EACH ROW
  WHEN (NOT gp_erases(OLD.thread_id, to_jsonb(OLD), to_jsonb(NEW),
    '{"delta": {"$erased": true}, "salt": "\\x", "config": null, "digests": null}'))
  EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_content_row BEFORE UPDATE ON gp_content
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_content_erasure BEFORE DELETE ON gp_content FOR EACH ROW
  WHEN (NOT gp_under_erasure(OLD.thread_id)) EXECUTE FUNCTION gp_refuse();

-- gp_erasure_kept: what was erased, and who wanted it, stays on record.
CREATE TRIGGER gp_erasure_kept BEFORE DELETE ON gp_erasure
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_erasure_table BEFORE TRUNCATE ON gp_erasure
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_erased_row BEFORE UPDATE OR DELETE ON gp_erased
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_erased_table BEFORE TRUNCATE ON gp_erased
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hold_kept BEFORE DELETE ON gp_hold
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hold_table BEFORE TRUNCATE ON gp_hold
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();

-- gp_closed_base: nobody begins a thread that would read a past which is being erased. The lock
-- makes whoever approves an erasure wait for forks that are being written, and sees them then.
CREATE FUNCTION gp_closed_base() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  closed uuid;
BEGIN
  SELECT erasure INTO closed FROM gp_thread WHERE id = NEW.base FOR NO KEY UPDATE;
  IF closed IS NOT NULL THEN
    RAISE EXCEPTION 'the thread % is being erased', NEW.base USING ERRCODE = 'lock_not_available';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER gp_closed_base AFTER INSERT ON gp_thread FOR EACH ROW
  WHEN (NEW.base IS NOT NULL) EXECUTE FUNCTION gp_closed_base();

-- gp_erase_history: drops all content of one thread, and the salts with it, from the tables of the
-- ground floor; ids, kinds, order, times and hashes stay. It works with the rights of its owner,
-- since the role of the product may change no log, and refuses a thread without an approved
-- erasure.
-- Answers (rows that were blanked or deleted, bytes that went with them).
CREATE FUNCTION gp_erase_history(wanted uuid, OUT n_rows bigint, OUT n_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  blank constant jsonb := '{"$erased": true}';
  n bigint;
BEGIN
  IF NOT gp_under_erasure(wanted) THEN
    RAISE EXCEPTION 'no approved erasure of the thread %', wanted
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT coalesce(sum(size), 0) INTO n_bytes FROM (
    SELECT sum(pg_column_size(data)) AS size FROM gp_event WHERE thread_id = wanted
    UNION ALL SELECT sum(pg_column_size(delta)) FROM gp_checkpoint WHERE thread_id = wanted
    UNION ALL SELECT sum(pg_column_size(body)) FROM gp_content WHERE thread_id = wanted
    UNION ALL SELECT sum(pg_column_size(state)) FROM gp_keyframe WHERE thread_id = wanted
    UNION ALL SELECT sum(pg_column_size(args) + coalesce(pg_column_size(result), 0)
      + pg_column_size(error) + coalesce(pg_column_size(cursor), 0))
      FROM gp_activity WHERE thread_id = wanted) s;
  n_rows := 1;
  UPDATE gp_event SET data = blank, salt = '' WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  UPDATE gp_checkpoint SET delta = blank, salt = '', config = NULL, digests = NULL
  WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  -- Of what a call used its numbers and the model stay; a tool's sentence quotes its arguments.
  UPDATE gp_activity SET args = blank, salt = '', error = '', cursor = NULL, progress = NULL,
    result = CASE WHEN result IS NULL THEN NULL ELSE blank END,
    undo_result = CASE WHEN undo_result IS NULL THEN NULL ELSE blank END,
    usage = CASE WHEN jsonb_typeof(usage) = 'object' THEN (
      SELECT coalesce(jsonb_object_agg(u.key, u.value), '{}') FROM jsonb_each(usage) u
      WHERE jsonb_typeof(u.value) = 'number' OR u.key IN ('cost', 'model')) END
  WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  DELETE FROM gp_keyframe WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  DELETE FROM gp_content WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  DELETE FROM gp_wake WHERE thread_id = wanted;
  DELETE FROM gp_set_aside WHERE thread_id = wanted;
  DELETE FROM gp_stuck WHERE thread_id = wanted;
  DELETE FROM gp_verification WHERE thread_id = wanted;
  DELETE FROM gp_watched WHERE thread_id = wanted;
  DELETE FROM gp_duty WHERE name = 'folder:' || wanted::text;
  UPDATE gp_thread SET title = 'Erased thread', name = NULL, labels = '{}', status_reason = '',
    waiting_on = NULL, rollback = NULL, pause_at = '', wish = '', wish_by = '',
    version = version + 1 WHERE id = wanted;
END $$;

-- Rights of the owner are only safe in the owner's schema; times read alike in every session.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION gp_erase_history(uuid) SET search_path = %I, pg_temp',
    current_schema());
END $$;
REVOKE ALL ON FUNCTION gp_erase_history(uuid) FROM PUBLIC;
