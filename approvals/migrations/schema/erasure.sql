-- The guards of the logs of this floor: an update may blank what an approved erasure of its
-- thread may blank (gp_erases is described in checkpoints/migrations/schema/erasure.sql).
CREATE TRIGGER gp_decision_row BEFORE DELETE ON gp_decision
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_carried_out_row BEFORE DELETE ON gp_carried_out
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hook_delivery_row BEFORE DELETE ON gp_hook_delivery
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();

-- gp_thread_of_request: the thread that an approval belongs to.
CREATE FUNCTION gp_thread_of_request(approval uuid) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT thread_id FROM gp_approval WHERE id = approval
$$;
CREATE TRIGGER gp_decision_erasure BEFORE UPDATE ON gp_decision FOR EACH ROW
  WHEN (NOT gp_erases(gp_thread_of_request(OLD.approval_id), to_jsonb(OLD), to_jsonb(NEW),
    '{"comment": "", "args": null, "salt": "\\x"}'))
  EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_carried_out_erasure BEFORE UPDATE ON gp_carried_out FOR EACH ROW
  WHEN (NOT gp_erases(gp_thread_of_request(OLD.approval_id), to_jsonb(OLD), to_jsonb(NEW),
    '{"said": ""}'))
  EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hook_delivery_erasure BEFORE UPDATE ON gp_hook_delivery FOR EACH ROW
  WHEN (NOT gp_erases(gp_thread_of_request(OLD.approval_id), to_jsonb(OLD), to_jsonb(NEW),
    '{"answer": "", "body_hash": "\\x"}'))
  EXECUTE FUNCTION gp_refuse();

-- gp_erase_requests: drops what the requests of one thread hold: proposals, edits, comments,
-- titles, and the news of them that were sent or are still to be sent. Who decided what and when
-- stays. A request that nobody has decided is withdrawn. It works and refuses as gp_erase_history
-- does.
CREATE FUNCTION gp_erase_requests(wanted uuid, OUT n_rows bigint, OUT n_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  blank constant jsonb := '{"$erased": true}';
  n bigint;
BEGIN
  IF NOT gp_under_erasure(wanted) THEN
    RAISE EXCEPTION 'no approved erasure of the thread %', wanted
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT coalesce(sum(pg_column_size(a.args) + pg_column_size(a.description)
    + pg_column_size(a.title)), 0) INTO n_bytes FROM gp_approval a WHERE a.thread_id = wanted;
  UPDATE gp_decision d SET comment = '', args = NULL, salt = '' FROM gp_approval a
  WHERE a.id = d.approval_id AND a.thread_id = wanted;
  GET DIAGNOSTICS n_rows = ROW_COUNT;
  UPDATE gp_carried_out c SET said = '' FROM gp_approval a
  WHERE a.id = c.approval_id AND a.thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  UPDATE gp_hook_delivery h SET answer = '', body_hash = '' FROM gp_approval a
  WHERE a.id = h.approval_id AND a.thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  DELETE FROM gp_delivery d USING gp_outbox o WHERE o.id = d.news_id AND o.thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  DELETE FROM gp_outbox WHERE thread_id = wanted;
  -- An incident quotes the first of its threads.
  UPDATE gp_incident i SET reason = '', labels = '[]' WHERE i.id IN (
    SELECT t.incident_id FROM gp_incident_thread t WHERE t.subject_id = wanted);
  UPDATE gp_incident_thread SET reason = '' WHERE subject_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
  UPDATE gp_approval SET args = blank, title = 'Erased', description = '', reasons = '[]',
    schema = NULL, repeats = NULL, sentence = '', origin = NULL, comment = '',
    standing_args = CASE WHEN standing_args IS NULL THEN NULL ELSE blank END,
    decided_args = CASE WHEN decided_args IS NULL THEN NULL ELSE blank END,
    status = CASE WHEN status IN ('pending', 'held') THEN 'withdrawn' ELSE status END,
    due_seats = '{}', due_except = '{}'
  WHERE thread_id = wanted;
  GET DIAGNOSTICS n = ROW_COUNT; n_rows := n_rows + n;
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION gp_erase_requests(uuid) SET search_path = %I, pg_temp',
    current_schema());
END $$;
REVOKE ALL ON FUNCTION gp_erase_requests(uuid) FROM PUBLIC;
