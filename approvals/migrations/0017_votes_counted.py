"""Votes are counted in the requests that are there, and in those that former code goes on to write.

No single transaction, so each operation can be repeated: a migration that was interrupted goes on.
"""

from django.db import migrations

# The code of before knows nothing of these columns. What it closes is nobody's turn; what it asks,
# decides, takes back, votes on or escalates has no count until the sweep makes one.
FORMER_CODE = """
CREATE OR REPLACE FUNCTION gp_approval_former_code() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'pending' THEN
    IF NEW.due_seats <> '{}' THEN
      NEW.due_seats := '{}';
      NEW.due_except := '{}';
      NEW.tally := NULL;
    END IF;
  ELSIF NEW.due_seats = '{}' THEN
    NEW.tally := NULL;
  ELSIF TG_OP = 'UPDATE' AND OLD.status = 'pending' AND NEW.tally = OLD.tally THEN
    NEW.tally := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER gp_approval_former_code
  BEFORE INSERT OR UPDATE OF status, standing_hash, escalated_at ON gp_approval
  FOR EACH ROW EXECUTE FUNCTION gp_approval_former_code();
"""
NO_TRIGGER = """
DROP TRIGGER IF EXISTS gp_approval_former_code ON gp_approval;
DROP FUNCTION IF EXISTS gp_approval_former_code();
"""


def count_votes(apps, schema_editor):
    """Fill the columns by the rule that the gate uses."""
    from approvals.gates.verdict.tallies import tally_all

    tally_all()


def _index(name: str, on: str) -> tuple[migrations.RunSQL, migrations.RunSQL]:
    """Begin anew with what an interrupted migration left invalid."""
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    create = f"CREATE INDEX CONCURRENTLY {name} ON gp_approval {on}"
    return migrations.RunSQL(drop, migrations.RunSQL.noop), migrations.RunSQL(create, drop)


class Migration(migrations.Migration):
    atomic = False
    dependencies = (("approvals", "0016_thread_news"),)
    operations = (
        migrations.RunSQL(FORMER_CODE, NO_TRIGGER),
        migrations.RunPython(count_votes, migrations.RunPython.noop),
        *_index("gp_approval_by_turn", "USING gin (due_seats) WHERE status = 'pending'"),
        *_index("gp_approval_uncounted", "(id) WHERE tally IS NULL"),
        # What these led to is read from the columns now. Their function `gp_seats` stays for one
        # release: processes of the former one call it while a release goes round.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS gp_approval_by_seat", migrations.RunSQL.noop
        ),
        migrations.RunSQL("DROP STATISTICS IF EXISTS gp_approval_seats", migrations.RunSQL.noop),
        migrations.RunSQL("ANALYZE gp_approval", migrations.RunSQL.noop),
    )
