"""Send news of incidents: one message for the opening, then digests, reminders and escalations.

For each incident one short transaction that holds its row: what is due, the deliveries, and the
note that they are no longer due. Killed in between, nothing of it has happened; of two sweepers the
second passes it over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.postgres.guarded_rows import not_set_aside, set_aside
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.states import ROLES

from ..notify import fan_out
from ..notify.channels.kinds import TO_PEOPLE
from ..notify.recipients import Person, members, wanted
from ..notify.texts.incident_kinds import ESCALATED, HIGH, MESSAGES
from . import quiet_hours

PART: Final = "incident_news"
SQL = sql_file(__file__, waits=not_set_aside(PART, "i.id"))
BATCH: Final = 100
HOUR: Final = 3_600.0


def send_messages(limit: int = BATCH) -> int:
    """Put what is due of up to `limit` incidents on its way; how many deliveries."""
    due = fetch_named(SQL.due, {"limit": limit, "hour": HOUR})
    sent = 0
    for row in due:
        try:
            sent += _send(row.id)
        except Exception as error:
            set_aside(PART, row.id, thread=None, error=error)
    return sent


def _send(incident_id: UUID) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        locked = fetch_named(SQL.lock, (incident_id,))
        if not locked:
            return 0
        (incident,) = locked
        rows = fetch_named(SQL.wanted, {"incident": incident_id, "hour": HOUR})
        messages: dict[str, set[UUID]] = defaultdict(set)
        escalated = [row for row in rows if row.escalates]
        for row in escalated:
            messages[ESCALATED].add(row.escalate_to)
        for row in rows:
            if row.message and row.id not in messages[ESCALATED]:
                messages[row.message].add(row.id)
        addressees = _Addressees(incident)
        deliveries: list[tuple[Any, ...]] = []
        for message in reversed(MESSAGES):  # of several for one person the weightiest
            if subscriptions := sorted(messages[message]):
                news = _notify(cursor, incident, message)
                for endpoint, recipient, at in addressees.of(subscriptions):
                    ident = f"msg_{news.hex}"
                    deliveries.append(
                        (uuid7(), incident.workspace, endpoint, news, message, recipient, ident, at)
                    )
                cursor.execute(SQL.note, (incident_id, incident.threads, subscriptions))
        fan_out.write(deliveries)
        if escalated:
            cursor.execute(SQL.note_escalated, (incident_id, [row.id for row in escalated]))
    return len(deliveries)


def _notify(cursor: Any, incident: Any, message: str) -> UUID:
    news: UUID = uuid7()
    data = {
        "incident": str(incident.id),
        "agent": incident.agent,
        "trouble": incident.kind,
        "reason": incident.reason,
        "threads": incident.threads,
        "in_trouble": incident.affected,
        "opened_at": incident.opened_at.isoformat(),
        "taken_by": incident.taken_by,
    }
    body = deltas.canonical(data).decode()
    cursor.execute(SQL.announce, (news, incident.workspace, message, incident.id, body))
    return news


class _Addressees:
    """Whom the subscriptions of one incident reach; each person and place once."""

    def __init__(self, incident: Any) -> None:
        self._incident = incident
        self._members = members(incident.workspace, *ROLES)
        self._quiet = quiet_hours.of_workspace(incident.workspace)
        self._unsent = {tuple(row) for row in fetch_named(SQL.unsent, (incident.id,))}
        self._reached: set[Any] = set()

    def of(self, subscriptions: Sequence[UUID]) -> Iterable[tuple[UUID, str, datetime | None]]:
        """(endpoint, recipient, not before); a recipient is `user:7`, an address, or empty."""
        rows = fetch_named(SQL.channels, (self._incident.workspace, list(subscriptions)))
        for row in rows:
            for recipient in self._recipients(row):
                # A person gets one mail and one push, however many subscriptions reach them.
                reached = (row.kind, recipient) if recipient else row.endpoint
                if reached in self._reached or (row.endpoint, recipient) in self._unsent:
                    continue
                self._reached.add(reached)
                yield row.endpoint, recipient, self._not_before(row, recipient)

    def _recipients(self, row: Any) -> list[str]:
        if row.kind not in TO_PEOPLE:
            return [""]
        if row.address:
            return [row.address]
        people, teams = deltas.decode(row.people), deltas.decode(row.teams)
        return [
            one.id
            for one in self._members
            if _concerns(one, row) and wanted(one, people=people, teams=teams)
        ]

    def _not_before(self, row: Any, recipient: str) -> datetime | None:
        hours = self._quiet.get(recipient)
        if hours is None or row.urgent or self._incident.kind in HIGH:
            return None
        return hours.end_after(self._incident.now)


def _concerns(person: Person, row: Any) -> bool:
    return person.id == row.person if row.person else row.team in person.teams
