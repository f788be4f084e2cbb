"""From the outbox to deliveries: each news becomes one row per endpoint and person who wants it.

One short transaction takes some rows that nobody else is at, writes their deliveries and marks them
as done. Killed in between, nothing of it has happened; two senders take different rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import CannotDecrypt
from checkpoints.postgres.guarded_rows import not_set_aside, set_aside
from checkpoints.postgres.named_rows import named_rows
from checkpoints.state import deltas

from .. import queries
from ..hooks.stored_secrets import ENDPOINT_ADDRESS
from ..signals import decision_announced
from .channels.kinds import TO_PEOPLE
from .recipients import DECIDES, GUARDS_RECORD, WORKS_ON_THREADS, Person, due, members, wanted
from .texts.kinds import ACCESS, ALARMS, BUDGETS, CALLS, GOES_WITH, THREADS

BATCH: Final = 50
_WAITS: Final = f"n.done_at IS NULL AND {not_set_aside('news', 'n.id')}"


@dataclass(frozen=True, slots=True)
class _Endpoint:
    id: UUID
    kind: str
    address: str | None
    events: Sequence[str]
    people: Sequence[str]
    teams: Sequence[str]


def spread(limit: int = BATCH) -> int:
    """Take up to `limit` news out of the outbox; how many.

    Looks first, without a transaction: mostly nothing waits.
    Where one of them fails, each is taken by itself: that one is set aside, the others continue.
    """
    if not _waiting(1):
        return 0
    try:
        return _spread(limit)
    except Exception as error:
        if isinstance(error, DatabaseError | InterfaceError) and not connection.is_usable():
            raise
    return sum(_spread_alone(news, thread) for news, thread in _waiting(limit))


def _waiting(limit: int) -> list[tuple[UUID, UUID | None]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT n.id, n.thread_id FROM gp_outbox n WHERE {_WAITS} ORDER BY n.at, n.id "
            "LIMIT %s",
            (limit,),
        )
        return list(cursor.fetchall())


def _spread_alone(news: UUID, thread: UUID | None) -> int:
    try:
        return _spread(1, only=news)
    except Exception as error:
        set_aside("news", news, thread=thread, error=error)
        return 0


def _spread(limit: int, *, only: UUID | None = None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.id, n.workspace_id, n.kind, n.thread_id, n.approval_id, "
            "CASE WHEN n.kind = 'approval.turn' THEN (n.data ->> 'stage')::integer ELSE 0 END "
            "AS stage, CASE WHEN n.kind IN ('approval.turn', 'access.changed') "
            "THEN coalesce(n.data ->> 'to', '') ELSE '' END AS only_to "
            "FROM gp_outbox n "
            f"WHERE {_WAITS} AND (%s::uuid IS NULL OR n.id = %s::uuid) "
            # Every worker spreads: what another one has locked is on its way already.
            "ORDER BY n.at, n.id LIMIT %s FOR UPDATE OF n SKIP LOCKED",
            (only, only, limit),
        )
        news = named_rows(cursor)
        if not news:
            return 0
        endpoints, people = (
            _endpoints({row.workspace_id for row in news}),
            dict[tuple[UUID, tuple[str, ...]], list[Person]](),
        )
        rows: list[tuple[Any, ...]] = []
        for ident, workspace, kind, _, approval, stage, only_to in news:
            if kind == ACCESS:
                rows += [
                    (uuid7(), workspace, one, ident, kind, only_to, f"msg_{ident.hex}", None)
                    for one in _to_one(endpoints.get(workspace, ()))
                ]
                continue
            who = [e for e in endpoints.get(workspace, ()) if GOES_WITH.get(kind, kind) in e.events]
            roles = GUARDS_RECORD if kind in ALARMS | BUDGETS else (DECIDES,)
            if kind in THREADS:
                roles = WORKS_ON_THREADS
            if who and (workspace, roles) not in people:
                people[workspace, roles] = members(workspace, *roles)
            to_whom: Sequence[Person] = people.get((workspace, roles), ())
            if kind in CALLS and who:
                to_whom = _called(to_whom, kind, approval, workspace, stage, only_to)
            for endpoint, to in _recipients(who, to_whom):
                message = (uuid7(), workspace, endpoint, ident, kind, to, f"msg_{ident.hex}", None)
                rows.append(message)
        write(rows)
        cursor.execute(
            "UPDATE gp_outbox SET done_at = clock_timestamp() WHERE id = ANY(%s::uuid[])",
            ([row.id for row in news],),
        )
        decided = [row.thread_id for row in news if row.kind == "approval.decided"]
        if decided:
            cursor.execute(
                "SELECT id, queue FROM gp_thread WHERE id = ANY(%s::uuid[]) AND status = 'queued'",
                (decided,),
            )
            for thread, queue in cursor.fetchall():
                ring = partial(decision_announced.send_robust, sender=None)
                transaction.on_commit(partial(ring, thread_id=thread, queue=queue))
    return len(news)


def _to_one(endpoints: Sequence[_Endpoint]) -> list[UUID]:
    """The first endpoint of each kind that writes to people, whatever it chooses."""
    first: dict[str, UUID] = {}
    for one in endpoints:
        if one.kind in TO_PEOPLE and one.address == "":
            first.setdefault(one.kind, one.id)
    return list(first.values())


def prune(limit: int = 1_000) -> int:
    """Delete what was delivered long ago, news with all its deliveries; how many news."""
    days = float(settings.GATEPOST_NEWS_DAYS)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.id FROM gp_outbox n WHERE n.done_at < clock_timestamp() "
            "- make_interval(secs => %s) AND NOT EXISTS (SELECT 1 FROM gp_delivery d "
            "WHERE d.news_id = n.id AND d.done_at IS NULL AND d.failed_at IS NULL) "
            "ORDER BY n.done_at LIMIT %s FOR UPDATE OF n SKIP LOCKED",
            (days * 86_400, limit),
        )
        old = [row[0] for row in cursor.fetchall()]
        cursor.execute("DELETE FROM gp_delivery WHERE news_id = ANY(%s::uuid[])", (old,))
        cursor.execute("DELETE FROM gp_outbox WHERE id = ANY(%s::uuid[])", (old,))
    return len(old)


def write(rows: Iterable[Sequence[Any]]) -> None:
    """Insert deliveries: (id, workspace, endpoint, news, kind, recipient, webhook id, not before).

    Not before None: now.
    """
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(
                "INSERT INTO gp_delivery (id, workspace_id, endpoint_id, news_id, kind, recipient, "
                "webhook_id, next_at, attempts, error, skipped) VALUES (%s::uuid, %s::uuid, "
                "%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, "
                "coalesce(%s::timestamptz, clock_timestamp()), 0, '', '') "
                "ON CONFLICT (news_id, endpoint_id, recipient) DO NOTHING",
                row,
            )


def _endpoints(workspaces: set[UUID]) -> dict[UUID, list[_Endpoint]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT workspace_id, id, kind, address, events::text, people::text, teams::text "
            "FROM gp_endpoint WHERE workspace_id = ANY(%s::uuid[]) AND active ORDER BY id",
            (list(workspaces),),
        )
        results: dict[UUID, list[_Endpoint]] = {}
        for workspace, ident, kind, address, *lists in cursor.fetchall():
            lists = [deltas.decode(text) for text in lists]
            payload = _Endpoint(ident, kind, _mail_address(kind, address, ident), *lists)
            results.setdefault(workspace, []).append(payload)
    return results


def _mail_address(kind: str, stored: str, endpoint: UUID) -> str | None:
    """The one address of an endpoint for mail, "" where it writes to people; None: unreadable."""
    try:
        return ENDPOINT_ADDRESS.decrypt(stored, endpoint) if kind == "email" else ""
    except CannotDecrypt:
        return None


def _called(
    people: Sequence[Person], kind: str, approval: UUID, workspace: UUID, stage: int, only_to: str
) -> list[Person]:
    """Those of these people whose turn it is in a request, as it stands now.

    `stage`: the news is about this turn; another one by now has news of its own. `only_to`: it was
    handed over to this person.
    """
    row = queries.approval(approval, workspace=workspace)
    if stage and row.progress.stage != stage:
        return []
    if only_to:
        return [one for one in people if one.id == only_to] if row.open else []
    return due(people, row, escalated=kind == "approval.escalated")


def _recipients(endpoints: Sequence[_Endpoint], people: Sequence[Person]) -> list[tuple[UUID, str]]:
    """(endpoint, recipient) of one news.

    A person gets one mail and one push, however many endpoints name them. A recipient is `user:7`,
    a mail address, or empty: the endpoint itself.
    """
    results: list[tuple[UUID, str]] = []
    served: dict[str, set[str]] = {kind: set() for kind in TO_PEOPLE}
    for endpoint in endpoints:
        if endpoint.kind not in TO_PEOPLE:
            results.append((endpoint.id, ""))
            continue
        if endpoint.address != "":
            # Unreadable here: the sender tries it again, and says which key is missing.
            to = [endpoint.address or ""]
        else:
            to = [
                one.id
                for one in people
                if wanted(one, people=endpoint.people, teams=endpoint.teams)
            ]
        results += [(endpoint.id, one) for one in to if one not in served[endpoint.kind]]
        served[endpoint.kind].update(to)
    return results
