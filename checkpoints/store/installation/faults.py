"""What goes wrong outside and inside: services that ask everybody to wait, steps that were lost."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from checkpoints.limits import CRASHES_ALLOWED
from checkpoints.queries.installation.faults import Lease
from checkpoints.states import EventKind

from ..statement.moves import Move, NewEvent, perform

NAME_MAX = 250


def hold_off(workspace: UUID, name: str, *, seconds: float, text: str) -> None:
    """Note that what is `name` there wants no call for so long; never shortens what stands."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_backoff (workspace_id, name, until, said) VALUES (%s::uuid, "
            "%s::varchar, clock_timestamp() + make_interval(secs => %s), %s::varchar) "
            "ON CONFLICT (workspace_id, name) DO UPDATE SET until = EXCLUDED.until, "
            "said = EXCLUDED.said WHERE gp_backoff.until < EXCLUDED.until",
            (workspace, name[:NAME_MAX], seconds, text[:NAME_MAX]),
        )


def lose_step(lease: Lease, *, why: str, last: bool = False) -> bool:
    """Note why the step under this lease will not come to its end; the lease runs out now.

    The next worker takes over and counts a crash; after the `last` one nobody does, and the sweep
    parks the thread. `why` continues after "it". False when the lease is another's by now: nothing
    was written.
    """
    move = Move(lease.thread, "th.lease_token = %s::uuid", (lease.token,))
    move.express("lease_until", "least(th.lease_until, clock_timestamp())")
    if last:
        move.express("crash_count", str(CRASHES_ALLOWED - 1))
    data = {
        "node": lease.node,
        "step": lease.step,
        "error": why,
        "lost": True,
        "fence": lease.fence,
    }
    move.events = [NewEvent(EventKind.STEP_FAILED, data, lease.owner)]
    return perform(move) is not None
