-- words: what a memory is found by; gone with its text. English stems and leaves out words such as
-- "the"; words of other languages stay as they are, in the text and in the question alike.
ALTER TABLE gp_memory ADD COLUMN words tsvector
  GENERATED ALWAYS AS (to_tsvector('english', text)) STORED;
CREATE INDEX gp_memory_search ON gp_memory USING gin (words);

-- gp_memory_kept: what was forgotten, and why, stays on record.
CREATE TRIGGER gp_memory_kept BEFORE DELETE ON gp_memory
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_memory_table BEFORE TRUNCATE ON gp_memory
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
