"""The part of the sweep that makes, counts and closes incidents and sends their news."""

from __future__ import annotations

import time
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from ..notify.texts.incident_kinds import BREAKER, DAMAGED, STUCK
from . import groups, messages, troubles
from .responses import log_dropped, recorded_rows

LOOK_SECONDS: Final = 5.0
PRUNE_SECONDS: Final = 3_600.0
ROUNDS: Final = 10  # batches of one look
# A thread of an incident that was dropped may not look new: see troubles.ABSENCE.
_LEAST_DAYS: Final = 2 * troubles.ABSENCE / 86_400


class IncidentTurns:
    """Work that is due in this process, by its own clock, and the walk over threads in trouble."""

    def __init__(self) -> None:
        self._look_at = self._prune_at = 0.0
        self.position: tuple[UUID, UUID] = groups.FIRST

    def look_due(self) -> bool:
        """Answer True once per LOOK_SECONDS."""
        now = time.monotonic()
        if now < self._look_at:
            return False
        self._look_at = now + LOOK_SECONDS
        return True

    def prune_due(self) -> bool:
        """Answer True once per PRUNE_SECONDS."""
        now = time.monotonic()
        if now < self._prune_at:
            return False
        self._prune_at = now + PRUNE_SECONDS
        return True


def sweep_incidents(turns: IncidentTurns | None = None) -> int:
    """Bring incidents up to date and send what is due; how many threads joined and messages began.

    1. Put new troubles into incidents, in several batches where many came together.
    2. Take those out that are well again; close incidents without any.
    3. Send what subscriptions have to hear.
    4. Once an hour drop what was closed long ago.
    """
    turns = turns or IncidentTurns()
    joined = 0
    for _ in range(ROUNDS):
        batch = groups.join_incidents()
        joined += batch
        if batch < troubles.BATCH:
            break
    turns.position = groups.leave_incidents(turns.position)
    sent = messages.send_messages()
    if turns.prune_due():
        prune()
    return joined + sent


def prune(limit: int = 100) -> int:
    """Drop incidents that were closed long ago, with their threads and notices; how many.

    Those about which people did something go with an event of their workspace.
    """
    days = max(float(settings.GATEPOST_NEWS_DAYS), _LEAST_DAYS)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.id, i.workspace_id FROM gp_incident i "
            "WHERE i.closed_at < clock_timestamp() - make_interval(secs => %s) "
            # What lasts though a person closed it would be taken for new.
            "AND (i.closed_by = '' OR i.kind <> ALL(%s::text[])) "
            "ORDER BY i.closed_at LIMIT %s FOR UPDATE SKIP LOCKED",
            (days * 86_400, [STUCK, DAMAGED, BREAKER], limit),
        )
        places: dict[str, UUID] = {str(ident): workspace for ident, workspace in cursor.fetchall()}
        known = recorded_rows(list(places))
        cursor.execute(
            "WITH old AS (DELETE FROM gp_incident WHERE id = ANY(%s::uuid[]) RETURNING id), "
            "t AS (DELETE FROM gp_incident_thread m USING old WHERE m.incident_id = old.id) "
            "DELETE FROM gp_incident_notice n USING old WHERE n.incident_id = old.id",
            (list(places),),
        )
        # In one order, so that two sweepers never wait for each other.
        for workspace in sorted({places[ident] for ident in known}, key=str):
            was = {ident: row for ident, row in known.items() if places[ident] == workspace}
            log_dropped(workspace, was, days=days)
    return len(places)
