"""Allowed values as domains instead of CHECKs on the tables that steps write.

PostgreSQL reads a table's CHECK expressions anew in every statement that writes the table (a fifth
of a step's time in the server), and those of a domain once per connection.
"""

from django.db import migrations, models

# Repeats the lists of checkpoints.states; a test compares them.
DOMAINS = """
CREATE DOMAIN gp_thread_status AS varchar(20) CONSTRAINT gp_thread_status CHECK (VALUE IN (
  'queued', 'running', 'waiting', 'sleeping', 'paused', 'attention', 'succeeded', 'failed',
  'cancelled', 'rolling_back'));
CREATE DOMAIN gp_thread_effects AS varchar(10) CONSTRAINT gp_thread_effects CHECK (VALUE IN (
  'run', 'ask'));
CREATE DOMAIN gp_checkpoint_source AS varchar(10) CONSTRAINT gp_checkpoint_source CHECK (VALUE IN (
  'input', 'step', 'edit', 'fork', 'rollback', 'upgrade', 'import'));
CREATE DOMAIN gp_activity_state AS varchar(12) CONSTRAINT gp_activity_state CHECK (VALUE IN (
  'planned', 'started', 'done', 'failed', 'unknown', 'compensated'));
CREATE DOMAIN gp_activity_kind AS varchar(10) CONSTRAINT gp_activity_kind CHECK (VALUE IN (
  'activity', 'effect', 'node', 'value'));
CREATE DOMAIN gp_event_kind AS varchar(50) CONSTRAINT gp_event_kind
  CHECK (VALUE ~ '^[a-z]+[.][a-z_]+$');
CREATE DOMAIN gp_event_actor AS varchar(200) CONSTRAINT gp_event_actor
  CHECK (position('|' in VALUE) = 0);
"""

# After instead of before: PostgreSQL locks the row once more for each BEFORE trigger of a table,
# also in the updates that it is not for.
TRIGGER = """
CREATE TRIGGER gp_thread_transition AFTER UPDATE OF status ON gp_thread
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION gp_transition();
"""

COLUMNS = f"""
DROP TRIGGER gp_thread_transition ON gp_thread;
ALTER TABLE gp_thread ALTER status TYPE gp_thread_status, ALTER effects TYPE gp_thread_effects;
{TRIGGER}
ALTER TABLE gp_checkpoint ALTER source TYPE gp_checkpoint_source;
ALTER TABLE gp_activity ALTER state TYPE gp_activity_state, ALTER kind TYPE gp_activity_kind;
ALTER TABLE gp_event DROP CONSTRAINT gp_event_kind, DROP CONSTRAINT gp_event_actor,
  ALTER kind TYPE gp_event_kind, ALTER actor TYPE gp_event_actor;
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0002_guards")]
    operations = [
        migrations.RemoveConstraint("thread", "gp_thread_status"),
        migrations.RemoveConstraint("thread", "gp_thread_effects"),
        migrations.RemoveConstraint("checkpoint", "gp_checkpoint_source"),
        migrations.RemoveConstraint("activity", "gp_activity_state"),
        migrations.RemoveConstraint("activity", "gp_activity_kind"),
        migrations.AlterField("checkpoint", "schema_version", models.IntegerField(default=1)),
        migrations.RunSQL(DOMAINS, migrations.RunSQL.noop),
        migrations.RunSQL(COLUMNS, migrations.RunSQL.noop),
    ]
