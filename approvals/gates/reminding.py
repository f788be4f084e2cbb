"""What is told of a request while it waits: reminders at the times its terms name, turns."""

from __future__ import annotations

from django.db import connection, transaction

from checkpoints import deltas, store
from checkpoints.states import EventKind

from .. import outbox
from ..counting import Progress
from ..queries import ApprovalRow
from ..terms import terms_of
from . import writing

SWEEP = "sweep"
# The condition of the index gp_approval_reminds: nothing is read of requests without reminders.
_LEFT = "status = 'pending' AND jsonb_array_length(terms -> 'reminders') > reminded"


def remind_due(*, limit: int = 200) -> int:
    """Put a reminder in the outbox for each open request whose time has come; how many.

    `reminded` counts the times that are over and is moved by compare-and-swap, so neither a second
    sweep nor a restart reminds twice; times that passed unseen make one reminder together. The log
    tells of each (`approval.reminded`), with how many times are over.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, workspace_id, thread_id, title, reminded, terms::text, "
            "extract(epoch FROM clock_timestamp() - requested_at)::float8 FROM gp_approval "
            f"WHERE {_LEFT} AND requested_at + make_interval(secs => "
            "(terms -> 'reminders' ->> reminded)::float8) <= clock_timestamp() "
            "AND (coalesce(decide_by, deadline) IS NULL "
            "OR coalesce(decide_by, deadline) > clock_timestamp()) "
            "ORDER BY requested_at LIMIT %s",
            (limit,),
        )
        due = cursor.fetchall()
    done = 0
    for ident, workspace, thread, title, reminded, terms, age in due:
        times = terms_of(_decoded(terms)).reminders
        over = max(sum(1 for seconds in times if seconds <= age), reminded + 1)
        with transaction.atomic():
            writing.lock(thread)
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE gp_approval SET reminded = %s::smallint WHERE id = %s::uuid "
                    "AND status = 'pending' AND reminded = %s::smallint",
                    (over, ident, reminded),
                )
                won = bool(cursor.rowcount)
            if won:
                told = {"reminder": over, "reminders": len(times)}
                said = {"approval": str(ident), "title": title} | told
                store.add_event(thread, store.NewEvent(EventKind.APPROVAL_REMINDED, said, SWEEP))
                outbox.tell(
                    "approval.reminder",
                    workspace=workspace,
                    thread=thread,
                    approval=ident,
                    data=told,
                )
                done += 1
    return done


def tell_turn(row: ApprovalRow, then: Progress | None, *, void: int = 0) -> None:
    """Tell those of a stage that it is their turn, in the transaction of the vote that made it so.

    `then` is how far the request is with that vote: it completed the stage before, or is an edit
    that made `void` approvals void and so begins again with an earlier one.
    """
    if then is None:
        return
    data = {"title": row.title, "stage": then.stage, "stages": then.stages}
    if void:
        data["void"] = void
    outbox.tell(
        "approval.turn", workspace=row.workspace, thread=row.thread, approval=row.id, data=data
    )


def _decoded(text: str) -> dict[str, object]:
    found: dict[str, object] = deltas.decode(text)
    return found
