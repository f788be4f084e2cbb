-- gp_words: the words of a text. They end at spaces and punctuation; a letter of a script without
-- spaces is a word of its own. `checkpoints.queries.search.words` splits queries in the same way; a
-- test compares.
CREATE FUNCTION gp_words(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200 AS $$
SELECT array_remove(regexp_split_to_array(
  regexp_replace(content, '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff'
    '\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])', ' \1 ', 'g'),
  '[\u0001-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u303f\ufeff]+'), '') $$;

-- gp_thread_words: the words of a thread's title, in lower case, and the short form of its id.
-- Its body is bound when it is made: an index is built without the schema of gp_words on the path.
CREATE FUNCTION gp_thread_words(title text, id uuid) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200
RETURN array_to_tsvector(gp_words(lower(title)) || "right"(id::text, 8));

-- gp_text_begins: whether a thread has all words of a text, of which the last may go on, or its id
-- begins with eight digits or more of it; true for a text without words. Lists ask the same of an
-- index, breakers of one thread.
CREATE FUNCTION gp_text_begins(title text, id uuid, content text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 400
RETURN CASE WHEN gp_words(content) = '{}' THEN true
  WHEN lower(content) ~ '^[0-9a-f]{8}(-[0-9a-f-]{0,27})?$'
    AND starts_with(replace(id::text, '-', ''), replace(lower(content), '-', '')) THEN true
  ELSE gp_thread_words(title, id)
    @@ ('''' || array_to_string(gp_words(lower(content)), ''' & ''') || ''':*')::tsquery END;
