-- gp_thread_words: the words of a thread's title, in lower case, and the short form of its id.
-- Words end at spaces and punctuation; a letter of a script without spaces is a word of its own.
-- `checkpoints.queries.search.words` splits queries in the same way; a test compares.
CREATE OR REPLACE FUNCTION gp_thread_words(title text, id uuid) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200 AS $$
SELECT array_to_tsvector(array_remove(regexp_split_to_array(
  regexp_replace(lower(title), '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff'
    '\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])', ' \1 ', 'g'),
  '[\u0001-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u303f\ufeff]+'), '') || "right"(id::text, 8)) $$
