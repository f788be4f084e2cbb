-- gp_state: the state of a thread at a checkpoint, folded from its deltas; `{}` for one that is not
-- there. It walks back through branches and bases as checkpoints.queries does and applies the same
-- operations; a test compares the two for random histories. A value that lies in a file stays
-- {"$content": sha256, "size": bytes}.
CREATE FUNCTION gp_state(wanted_thread uuid, wanted uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  state jsonb := '{}'::jsonb;
  part record;
  member record;
BEGIN
  FOR part IN
    WITH RECURSIVE seg AS (
      SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth
      FROM gp_checkpoint c WHERE c.thread_id = wanted_thread AND c.id = wanted
      UNION ALL
      SELECT p.thread_id, p.number, p.branch_start, s.depth + 1
      FROM seg s
      JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
      JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
    )
    SELECT c.thread_id, c.delta FROM seg s JOIN gp_checkpoint c ON c.thread_id = s.thread_id
      AND c.number BETWEEN s.lo AND s.hi ORDER BY s.depth DESC, c.number
  LOOP
    IF part.delta ? 'set' THEN
      state := state || (part.delta -> 'set');
    END IF;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'put', '{}')) LOOP
      state := state || jsonb_build_object(member.key, coalesce(
        (SELECT g.body::jsonb FROM gp_content g WHERE g.thread_id = part.thread_id
           AND g.sha256 = member.value ->> 'sha256'),
        jsonb_build_object('$content', member.value -> 'sha256', 'size', member.value -> 'size')));
    END LOOP;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'append', '{}')) LOOP
      state := jsonb_set(state, ARRAY[member.key],
                         coalesce(state -> member.key, '[]'::jsonb) || member.value);
    END LOOP;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'merge', '{}')) LOOP
      state := jsonb_set(state, ARRAY[member.key],
                         coalesce(state -> member.key, '{}'::jsonb) || member.value);
    END LOOP;
    IF part.delta ? 'unset' THEN
      state := state - ARRAY(SELECT jsonb_array_elements_text(part.delta -> 'unset'));
    END IF;
  END LOOP;
  RETURN state;
END $$;

-- gp_found_under: the threads under whose id a checkpoint of `at_thread` is listed: its own, and
-- for the first of a fork also that of its base, also through forks of forks.
CREATE FUNCTION gp_found_under(at_thread uuid, at_number integer) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE up AS (
    SELECT at_thread AS thread_id, at_number AS number
    UNION
    SELECT f.parent_thread, f.parent_number FROM up
    JOIN gp_checkpoint f ON f.thread_id = up.thread_id AND f.number = 0
    WHERE up.number = 0 AND f.parent_thread <> f.thread_id
  )
  SELECT thread_id FROM up
$$;

-- agent_checkpoints: checkpoints for readers of plain SQL, with ids as text and the whole state as
-- bytes. The first checkpoint of a fork, whose parent lies in its base, is listed under both ids.
CREATE VIEW agent_checkpoints AS
SELECT c.thread_id::text::varchar(255) AS thread_id, c.id::text::varchar(255) AS checkpoint_id,
  c.parent::text::varchar(255) AS parent_checkpoint_id,
  convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8') AS state_payload, c.created_at
FROM gp_checkpoint c
UNION ALL
SELECT b.thread_id::text::varchar(255), c.id::text::varchar(255),
  c.parent::text::varchar(255), convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8'),
  c.created_at
FROM gp_checkpoint c, LATERAL gp_found_under(c.parent_thread, c.parent_number) AS b (thread_id)
WHERE c.number = 0 AND c.parent_thread <> c.thread_id;
