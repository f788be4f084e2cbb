"""Opening approvals: a leased thread stops and waits for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.records import Work
from checkpoints.states import EventKind

from ..columns import APPROVAL
from ..rules.headlines import named
from ..rules.proposals import Proposal, proposal_hash, request_seal, titled
from ..rules.terms import terms_of
from ..rules.votes import progress
from .replies import announce
from .verdict import decision_rows


def request(
    work: Work,
    proposals: Sequence[Proposal],
    *,
    events: Sequence[store.NewEvent] = (),
    waiting_on: Any = None,
) -> bool:
    """Open approvals and let the thread wait: running -> waiting, in one transaction.

    False when news came meanwhile (a decision on another gate): nothing was written, the engine
    starts over. Raises LeaseLost.
    """
    held = replace(work)  # what the store notes there counts once all of it is written
    with transaction.atomic():
        rows = [(uuid7(), p, deadline_of(p)) for p in proposals]
        hashes = {
            ident: proposal_hash(
                workspace=work.workspace,
                thread=work.thread,
                position=p.position,
                tool=p.tool,
                args=p.args,
                agent_version=work.agent_version,
                policy_version=p.policy_version,
                deadline=deadline,
                origin=p.origin,
            )
            for ident, p, deadline in rows
        }
        requests = [
            request_event(columns_of(work, ident, p, deadline, hashes[ident]), actor=work.owner)
            for ident, p, deadline in rows
        ]
        # The thread row first: it carries the lease, and it is the first lock everywhere.
        waits = store.leave(
            held,
            EventKind.THREAD_SUSPENDED,
            events=[*events, *requests],
            waiting_on=waiting_on,
            unless_woken=True,
        )
        if waits:
            announce(work, {ident: p for ident, p, _ in rows})
        for ident, p, deadline in rows if waits else ():
            insert(columns_of(work, ident, p, deadline, hashes[ident]))
    for field in fields(work):
        setattr(work, field.name, getattr(held, field.name))
    return waits


def request_event(columns: Mapping[str, Any], *, actor: str, asks: bool = True) -> store.NewEvent:
    """The event that records a request; it binds the whole row.

    `asks`: people decide it, and no policy by itself.
    """
    data = {
        "approval": str(columns["id"]),
        **named(columns["title"], columns["sentence"]),
        "tool": columns["tool"],
        "node": columns["node"],
        "risk": columns["risk"],
        "proposal_hash": columns["proposal_hash"],
        "seal": request_seal(columns),
        **({} if asks else {"asks": False}),
    }
    return store.NewEvent(EventKind.APPROVAL_REQUESTED, data, actor)


def deadline_of(proposal: Proposal) -> datetime | None:
    """Until when people can decide, by the database's clock."""
    if proposal.expires_in is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clock_timestamp() + make_interval(secs => %s)", (proposal.expires_in,)
        )
        result: datetime = cursor.fetchone()[0]
    return result


_REQUEST = APPROVAL.sealed
# Columns that a proposal has under the same name.
_AS_PROPOSED = tuple(one.name for one in fields(Proposal) if one.name in _REQUEST)


def columns_of(
    work: Work, ident: UUID, p: Proposal, deadline: datetime | None, digest: str
) -> dict[str, Any]:
    """A request as its row begins; `digest` is its proposal hash."""
    return {
        "id": ident,
        "workspace_id": work.workspace,
        "thread_id": work.thread,
        "agent_version_id": work.agent_version,
        "branch": p.position.branch,
        "step": p.position.step,
        "node": p.position.node,
        "index": p.position.index,
        "key": p.position.key,
        "proposal_hash": digest,
        **{name: getattr(p, name) for name in _AS_PROPOSED},
        "title": titled(p.title),
        "reasons": list(p.reasons),
        "deadline": deadline,
        "terms": None if p.terms is None else p.terms.to_json(),
    }


_INSERT = (
    f"INSERT INTO gp_approval ({', '.join(_REQUEST)}, tally, due_seats, due_except, status, "
    "outcome, comment, decided_by, decided_by_name, requested_at) "
    f"SELECT {', '.join(_REQUEST.placeholders.values())}, "
    "%s::jsonb, %s::text[], %s::text[], "
    # The time of the event that records it: the thread was written just before.
    "'pending', '', '', '', '', th.last_at FROM gp_thread th WHERE th.id = %s::uuid"
)


def insert(columns: Mapping[str, Any]) -> None:
    """Write the row of a request, right after the event that records it."""
    values = [
        decision_rows.as_json(columns[name]) if name in _REQUEST.json else columns[name]
        for name in _REQUEST
    ]
    begins = decision_rows.tallied(progress(terms_of(columns["terms"]), ()))
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [*values, *begins, columns["thread_id"]])
