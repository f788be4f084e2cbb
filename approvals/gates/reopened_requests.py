"""Requests of a policy that changed, not carried out yet: withdrawn and asked anew."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from checkpoints import store
from checkpoints.states import EventKind

from .. import outbox
from ..policies import queries as queries_policies
from ..policies.affected_requests import is_touched, undone
from .verdict.decision_rows import BLANK, NOBODY_DUE


def withdraw_of_policy(
    policy: UUID, newest: str, *, workspace: UUID, reason: str, actor: str
) -> int:
    """Let requests be asked anew under the policies of now; how many.

    Withdrawn are open requests under a version older than `newest`, and open or held ones that any
    policy makes stricter; each thread is woken. A settled one that became stricter counts too: the
    engine asks anew when it gets there. Requests for an operation of a person are left as they are:
    nobody would ask for them anew. Threads are taken one by one, each in a transaction of its own;
    call it after the new version is committed.
    """
    active = queries_policies.active(workspace)
    done = 0
    for row in list(undone(workspace, at_most=None)):
        if is_touched(row, active, newest):
            settled = row.status == "settled"
            done += settled or _withdraw(row.id, row.thread, workspace, reason, actor)
    return done


def _withdraw(ident: UUID, thread: UUID, workspace: UUID, reason: str, actor: str) -> bool:
    with transaction.atomic():
        store.lock_thread(thread)
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE gp_approval SET {BLANK}, {NOBODY_DUE}, status = 'withdrawn', "
                "comment = %s::text, decided_at = clock_timestamp() WHERE id = %s::uuid "
                "AND status IN ('pending', 'held') "
                "RETURNING title, decided_at",
                (reason, ident),
            )
            gone = cursor.fetchone()
        if gone is None:
            return False
        title, at = gone
        store.wake(
            thread,
            event=store.NewEvent(
                EventKind.APPROVAL_WITHDRAWN,
                {
                    "approval": str(ident),
                    "title": title,
                    "reason": reason,
                    "decided_at": at.isoformat(),
                },
                actor,
            ),
        )
        outbox.add(
            "approval.withdrawn",
            workspace=workspace,
            thread=thread,
            approval=ident,
            data={"title": title, "reason": reason},
        )
    return True
