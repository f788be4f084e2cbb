"""Leases of agents that work elsewhere: taken, renewed, given back; each report has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from checkpoints import leases, queries, store
from checkpoints.agent_versions import is_of_gateway
from checkpoints.postgres import reads
from checkpoints.records import Work
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.errors import Conflict, Leased, LeaseLost, NotAllowedNow, translated
from dashboard.fields.credentials import check_credentials, without_credentials
from dashboard.identity.permissions import Actor, require
from dashboard.threads.start import enter_announcement
from workers.external.announcement import Announcement
from workers.external.bounds import LEAVING, SECONDS_MAX
from workers.external.reported import stop_before
from workers.external.settled import go_back_if_undone
from workers.external.unsettled import refuse_unsettled, stop_at_unsettled


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as its holder gets it."""

    work: Work
    until: datetime
    thread: ThreadRow


def owner_of(actor: Actor, name: str) -> str:
    """Name an external agent for the log: its person and token, then its own name."""
    return f"{actor.id}/agent:{name}"


def is_own(actor: Actor, owner: str) -> bool:
    """True if an agent of this person took the lease, through any of their tokens."""
    person, _, rest = owner.partition("/")
    return person == actor.person and "agent:" in rest


def lease_of(
    actor: Actor,
    thread_id: UUID,
    token: UUID,
    *,
    along: Sequence[reads.Query] = (),
    lock: bool = False,
) -> Work:
    """The work under this lease; raises LeaseLost where it is not, or no longer, the actor's.

    `along` is asked in the same round trip; the answers are `brought`. `lock` keeps the thread's
    row until the transaction ends.
    """
    require(actor, "work")
    work = leases.held(thread_id, token=token, workspace=actor.workspace, along=along, lock=lock)
    if work is not None and is_own(actor, work.owner) and not is_of_gateway(work.agent):
        return work
    raise _lost(_open(actor, thread_id, watches=True))


def _lost(row: ThreadRow) -> LeaseLost:
    return LeaseLost(
        "You no longer hold this thread's lease. What you report now is not recorded; "
        "look at next/.",
        status=str(row.status),
        version=row.version,
    )


def closed(row: ThreadRow, *, watches: bool = False) -> str:
    """Say why no agent elsewhere works on a thread, as a sentence; empty where one may.

    `watches` for what only reports what was seen of a watched agent.
    """
    if row.external is None:
        return "Workers of this installation work on this thread."
    if is_of_gateway(row.agent):
        # Its client is answered with what the thread records: only a server's answer may be that.
        return "Only the MCP gateway works on this thread."
    if row.external.watched and not watches:
        # Nothing stops it before a node: it would work past the policies under this name.
        return f"{row.agent} is watched, not controlled, in this thread: start one of another name."
    return ""


def _open(actor: Actor, thread_id: UUID, *, watches: bool) -> ThreadRow:
    row = queries.thread(thread_id, workspace=actor.workspace)
    if why := closed(row, watches=watches):
        raise Conflict(why, status=str(row.status))
    return row


@translated()
def take(
    actor: Actor,
    thread_id: UUID,
    name: str,
    seconds: float,
    *,
    flushed: bool = False,
    watches: bool = False,
    announced: Announcement | None = None,
) -> Held:
    """Take the lease of a thread that is queued, or whose holder let it expire.

    What is `announced` with it is a version of the agent of its own: the thread stays on the one
    it began with, and may call the tools of both.

    `flushed` for who reports in the same transaction, `watches` for who was watching only.
    """
    require(actor, "work")
    check_credentials("$.name", name)
    row = _open(actor, thread_id, watches=watches)
    if announced is not None:
        enter_announcement(actor, row.agent, announced)
    owner = owner_of(actor, name)
    work = leases.acquire(thread_id, owner=owner, seconds=seconds, flushed=flushed)
    work = work or leases.take_over(thread_id, owner=owner, seconds=seconds)
    if work is None:
        raise _refusal(queries.thread(thread_id, workspace=actor.workspace))
    if _is_stopped(work):
        refused = _refusal(queries.thread(thread_id, workspace=actor.workspace))
        if connection.in_atomic_block:
            # The code that opened that transaction rolls it back now, and the stop with it.
            refused.afterwards = partial(_stop, thread_id, owner, seconds)
        raise refused
    row = queries.thread(thread_id, workspace=actor.workspace)
    return Held(work, row.lease_until or row.last_at, row)


def _is_stopped(work: Work) -> bool:
    """Leave a thread that was just taken where its agent may not continue; whether it was left."""
    if work.status is Status.ROLLING_BACK:
        return go_back_if_undone(work)
    return stop_at_unsettled(work) or stop_before(work, work.next_nodes)


def _stop(thread_id: UUID, owner: str, seconds: float) -> None:
    """Take a thread to leave it where it has to stop; give it back where it no longer has to."""
    work = leases.acquire(thread_id, owner=owner, seconds=seconds)
    work = work or leases.take_over(thread_id, owner=owner, seconds=seconds)
    if work is not None and not _is_stopped(work):
        store.hand_back(work, reason="it no longer has to stop")


def _refusal(row: ThreadRow) -> Conflict:
    if row.lease_owner and row.lease_until is not None:
        refusal = Leased(
            "Somebody else works on this thread.",
            owner=row.lease_owner,
            until=row.lease_until.isoformat(),
        )
        left = (row.lease_until - row.read_at).total_seconds()
        refusal.retry_after = max(1, min(SECONDS_MAX, round(left)))
        return refusal
    if row.stopped is not None:
        return NotAllowedNow(row.stopped.sentence, status=str(row.status))
    why = "The thread can't be taken now; look at next/."
    if row.status is Status.ATTENTION:
        why = f"The thread needs attention. {row.status_reason}"
    return NotAllowedNow(why, status=str(row.status))


@translated()
def renew(actor: Actor, thread_id: UUID, token: UUID, seconds: float) -> ThreadRow:
    """Prolong the lease by a full term."""
    lease_of(actor, thread_id, token)
    if not leases.renew(thread_id, token=token, seconds=seconds):
        raise _lost(queries.thread(thread_id, workspace=actor.workspace))
    return queries.thread(thread_id, workspace=actor.workspace)


@translated()
def release(
    actor: Actor, thread_id: UUID, token: UUID, status: str, reason: str, seconds: float | None
) -> ThreadRow:
    """Give the lease back and leave the thread in this status.

    Refused while an effect has begun and is not settled, whatever the status.
    """
    reason = without_credentials(reason)
    more: dict[str, Any] = {}
    if status == "sleeping":
        more = {"wake_at_seconds": seconds, "data": {"seconds": seconds}}
    with transaction.atomic():
        work = lease_of(actor, thread_id, token, lock=True)
        refuse_unsettled(work, queries.unsettled_effects(thread_id))
        if work.status is Status.ROLLING_BACK or status == "queued":
            store.hand_back(work, reason=reason or "the agent hands it back")
        else:
            store.leave(work, LEAVING[status], reason=reason, **more)
    return queries.thread(thread_id, workspace=actor.workspace)
