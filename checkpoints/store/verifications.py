"""What the last verification of a thread found, for its page; no history."""

from __future__ import annotations

from django.db import connection

from ..chain import ChainReport
from ..errors import NotFound
from ..views import VerificationRow


def note_verification(report: ChainReport, *, actor: str) -> VerificationRow:
    """Keep the outcome in place of the former one, by the database's clock; raises NotFound."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_verification (thread_id, n_events, intact, broken_seq, what, "
            "checked_by, checked_at) SELECT th.id, %s::bigint, %s::boolean, %s::bigint, %s::text, "
            "%s::varchar, clock_timestamp() FROM gp_thread th WHERE th.id = %s::uuid "
            "ON CONFLICT (thread_id) DO UPDATE SET n_events = EXCLUDED.n_events, "
            "intact = EXCLUDED.intact, broken_seq = EXCLUDED.broken_seq, what = EXCLUDED.what, "
            "checked_by = EXCLUDED.checked_by, checked_at = EXCLUDED.checked_at "
            "RETURNING checked_at",
            (
                report.n_events,
                report.intact,
                report.first_broken_seq,
                report.what,
                actor,
                report.ident,
            ),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such thread.")
    return VerificationRow(
        report.n_events, report.intact, report.first_broken_seq, report.what, actor, row[0]
    )
