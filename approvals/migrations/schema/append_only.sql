-- gp_refuse is described in checkpoints/migrations/schema/append_only.sql.

-- Logs: rows are added and never changed. The guards of rows that an erasure may blank stand in
-- erasure.sql.
CREATE TRIGGER gp_decision_table BEFORE TRUNCATE ON gp_decision
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_carried_out_table BEFORE TRUNCATE ON gp_carried_out
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_look_row BEFORE UPDATE OR DELETE ON gp_approval_look
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_look_table BEFORE TRUNCATE ON gp_approval_look
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_version_row BEFORE UPDATE OR DELETE ON gp_policy_version
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_version_table BEFORE TRUNCATE ON gp_policy_version
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_hook_delivery_table BEFORE TRUNCATE ON gp_hook_delivery
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();

-- Requests and policies change, and stay.
CREATE TRIGGER gp_approval_kept BEFORE DELETE ON gp_approval
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_table BEFORE TRUNCATE ON gp_approval
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_kept BEFORE DELETE ON gp_policy
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_policy_table BEFORE TRUNCATE ON gp_policy
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
