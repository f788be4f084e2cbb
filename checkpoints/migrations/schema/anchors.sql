-- Anchors and their time stamps are added and never changed.
CREATE TRIGGER gp_anchor_row BEFORE UPDATE OR DELETE ON gp_anchor
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_anchor_table BEFORE TRUNCATE ON gp_anchor
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_anchor_stamp_row BEFORE UPDATE OR DELETE ON gp_anchor_stamp
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_anchor_stamp_table BEFORE TRUNCATE ON gp_anchor_stamp
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
