-- Indexes over arrays: events that have a word, questions that an erased thread touches.
CREATE INDEX gp_indexed_event_words ON gp_indexed_event USING gin (words);
CREATE INDEX gp_record_question_threads ON gp_record_question USING gin (threads);

-- gp_word_hashes: the words of a text as hashes of their stems, each once. Both the index and a
-- question go through it. English stems; words of other languages stay as they are or lose an end
-- that English knows, the same on both sides.
CREATE FUNCTION gp_word_hashes(body text) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(DISTINCT hashtext(w.stem)), '{}')
  FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.english', body))) w (stem)
$$;

-- gp_erase_index: removes the words of a thread from the index of the history, and blanks questions
-- whose answers rest on it. A process that adds words holds the lock shared: what it read
-- before the content was blanked is in the index when the lock is taken here, and is removed.
CREATE FUNCTION gp_erase_index(wanted uuid, OUT n_rows bigint, OUT n_bytes bigint)
LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('gatepost.history_index', 0));
  n_bytes := 0;
  DELETE FROM gp_indexed_event WHERE thread_id = wanted;
  GET DIAGNOSTICS n_rows = ROW_COUNT;
  UPDATE gp_record_question SET question = '', answer = '{"$erased": true}', salt = ''
  WHERE threads && ARRAY[wanted] AND salt <> '';
  GET DIAGNOSTICS n = ROW_COUNT;
  n_rows := n_rows + n;
END $$;
