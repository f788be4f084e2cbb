"""Decisions are append-only, by trigger in plain SQL."""

from django.db import migrations

APPEND_ONLY = """
CREATE TRIGGER gp_decision_row BEFORE UPDATE OR DELETE ON gp_decision
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_decision_table BEFORE TRUNCATE ON gp_decision
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_kept BEFORE DELETE ON gp_approval
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_table BEFORE TRUNCATE ON gp_approval
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial"), ("checkpoints", "0002_guards")]
    operations = [migrations.RunSQL(APPEND_ONLY, migrations.RunSQL.noop)]
