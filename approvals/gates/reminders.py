"""News of a request while it waits: reminders at the times its terms name, turns."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from checkpoints import store
from checkpoints.postgres.guarded_rows import handle_rows, not_set_aside
from checkpoints.state import deltas
from checkpoints.states import EventKind

from .. import outbox
from ..queries import ApprovalRow
from ..rules.headlines import SENTENCE, named
from ..rules.terms import terms_of
from ..rules.votes import Progress
from .verdict import decision_rows

SWEEP = "sweep"
# The condition of the index gp_approval_reminds: nothing is read of requests without reminders.
_LEFT = "a.status = 'pending' AND jsonb_array_length(a.terms -> 'reminders') > a.reminded"
# One that is no number is due: its handling says what is wrong, and keeps no other waiting.
_TIME = (
    "CASE jsonb_typeof(a.terms -> 'reminders' -> a.reminded) WHEN 'number' "
    "THEN (a.terms -> 'reminders' ->> a.reminded)::float8 ELSE 0 END"
)
# (id, thread, workspace, title, sentence, reminded, terms, seconds since it was asked for)
type _Due = tuple[UUID, UUID, UUID, str, str, int, str, float]


def remind_due(*, limit: int = 200) -> int:
    """Put a reminder in the outbox for each open request whose time has come; how many.

    `reminded` counts the times that are over and is moved by compare-and-swap, so neither a second
    sweep nor a restart reminds twice; times that passed unseen make one reminder together. The log
    records each (`approval.reminded`), with how many times are over.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT a.id, a.thread_id, a.workspace_id, a.title, {SENTENCE}, a.reminded, "
            "a.terms::text, "
            f"extract(epoch FROM clock_timestamp() - a.requested_at)::float8 {decision_rows.DUE} "
            f"AND {_LEFT} AND a.requested_at + make_interval(secs => {_TIME}) "
            "<= clock_timestamp() "
            "AND (coalesce(a.decide_by, a.deadline) IS NULL "
            "OR coalesce(a.decide_by, a.deadline) > clock_timestamp()) "
            f"AND {not_set_aside('reminded', 'a.id')} "
            f"ORDER BY a.requested_at LIMIT %s {decision_rows.FREE}",
            (limit,),
        )
        due: list[_Due] = cursor.fetchall()
    return handle_rows("reminded", due, _remind)


def _remind(due: _Due) -> bool:
    ident, thread, workspace, title, sentence, reminded, terms, age = due
    times = terms_of(_decoded(terms)).reminders
    n_due = max(sum(1 for seconds in times if seconds <= age), reminded + 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval SET reminded = %s::smallint WHERE id = %s::uuid "
            "AND status = 'pending' AND reminded = %s::smallint",
            (n_due, ident, reminded),
        )
        if not cursor.rowcount:
            return False
    payload = {"reminder": n_due, "reminders": len(times)}
    message = {"approval": str(ident)} | named(title, sentence) | payload
    store.add_event(thread, store.NewEvent(EventKind.APPROVAL_REMINDED, message, SWEEP))
    outbox.add(
        "approval.reminder", workspace=workspace, thread=thread, approval=ident, data=payload
    )
    return True


def announce_turn(row: ApprovalRow, then: Progress, *, void: int = 0) -> None:
    """Announce a turn to the people of a stage, in the transaction of the vote that made it theirs.

    `then` is how far the request is with that vote: it completed the stage before, or is an edit
    that made `void` approvals void and so begins again with an earlier one.
    """
    data = {"title": row.title, "stage": then.stage, "stages": then.stages}
    if void:
        data["void"] = void
    outbox.add(
        "approval.turn", workspace=row.workspace, thread=row.thread, approval=row.id, data=data
    )


def _decoded(text: str) -> dict[str, object]:
    payload: dict[str, object] = deltas.decode(text)
    return payload
