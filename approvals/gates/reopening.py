"""Waiting requests of a policy that changed: withdrawn, so that the engine asks anew."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from checkpoints import store
from checkpoints.states import EventKind

from .. import outbox


def withdraw_of_policy(
    policy: UUID, newest: str, *, workspace: UUID, reason: str, actor: str
) -> int:
    """pending -> withdrawn for each request under a version older than `newest`; how many.

    Each thread is woken, so that its next request is made under the policies of now. Requests for
    an operation of a person are left as they are: nobody would ask for them anew. Threads are
    taken one by one, each in a transaction of its own; call it after the new version is committed.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, thread_id FROM gp_approval WHERE workspace_id = %s::uuid "
            "AND status = 'pending' AND kind <> 'operation' "
            "AND starts_with(policy_version, %s::text) AND policy_version <> %s::text "
            "ORDER BY thread_id, id",
            (workspace, f"{policy}@", newest),
        )
        waiting = cursor.fetchall()
    return sum(_withdraw(ident, thread, workspace, reason, actor) for ident, thread in waiting)


def _withdraw(ident: UUID, thread: UUID, workspace: UUID, reason: str, actor: str) -> bool:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM gp_thread WHERE id = %s::uuid FOR UPDATE", (thread,))
            cursor.execute(
                "UPDATE gp_approval SET status = 'withdrawn', comment = %s::text, "
                "decided_at = clock_timestamp() WHERE id = %s::uuid AND status = 'pending' "
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
        outbox.tell(
            "approval.withdrawn",
            workspace=workspace,
            thread=thread,
            approval=ident,
            data={"title": title, "reason": reason},
        )
    return True
