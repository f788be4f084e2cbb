-- gp_thread_texts: what the board's free text is looked for in: title, agent, values of labels, and
-- of a thread that failed or needs a person the beginning of its error; each on a line of its own.
-- A word of an index has room for 500 characters of any script.
CREATE FUNCTION gp_thread_texts(
  title text, agent text, labels jsonb, status text, reason text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 50 RETURN title || E'\n' || agent
  || CASE WHEN labels = '{}'::jsonb THEN ''
    ELSE (SELECT coalesce(string_agg(E'\n' || left(x.value, 500), '' ORDER BY x.key), '')
      FROM jsonb_each_text(labels) x) END
  || CASE WHEN status IN ('failed', 'attention') THEN E'\n' || left(reason, 500) ELSE '' END;

-- gp_thread_terms: the words of these texts, the short form of the thread's id, and who started it
-- as a word that no text has: it holds a space.
CREATE FUNCTION gp_thread_terms(
  title text, id uuid, agent text, labels jsonb, status text, reason text, started_by text)
RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 250
RETURN gp_thread_words(gp_thread_texts(title, agent, labels, status, reason), id)
  || array_to_tsvector(ARRAY['by ' || split_part(started_by, '/', 1)]);
