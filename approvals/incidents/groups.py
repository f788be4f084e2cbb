"""Put threads in trouble into incidents, take those out that are well again, close what is over.

Each incident is one short transaction that holds its row, so several sweepers do no harm: the
second one finds that nothing is left to do. A row that fails is set aside, the others continue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.postgres.guarded_rows import LOCK_WAIT, is_busy, set_aside
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.signals import board_changed
from checkpoints.state import deltas

from .. import outbox
from ..notify.texts.incident_kinds import LOST, REASON_MAX
from . import troubles
from .troubles import Trouble

SQL = sql_file(__file__)
FIRST: Final = (UUID(int=0), UUID(int=0))


def join_incidents(limit: int = troubles.BATCH) -> int:
    """Put new troubles into the incidents of their groups; how many joined."""
    groups: dict[tuple[UUID, str, str, str], list[Trouble]] = defaultdict(list)
    for trouble in troubles.new_troubles(limit):
        groups[trouble.group].append(trouble)
    # In one order, so that two sweepers never wait for each other.
    return sum(_join_guarded(groups[group]) for group in sorted(groups, key=str))


def leave_incidents(after: tuple[UUID, UUID] = FIRST) -> tuple[UUID, UUID]:
    """Note who of the next threads is well again, close incidents without any.

    Answers the place to continue from. The walk begins anew (FIRST) at its end.
    """
    rows = troubles.affected(after)
    ended: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        if row.ended:
            ended[row.incident].append(row)
    for incident, gone in ended.items():
        try:
            _leave(incident, gone)
        except Exception as error:
            if is_busy(error):
                continue  # the next walk meets it again
            set_aside(troubles.PART, incident, thread=None, error=error)
    if len(rows) < troubles.AFFECTED_BATCH:
        return FIRST
    return rows[-1].incident, rows[-1].subject


def _join_guarded(alike: Sequence[Trouble]) -> int:
    """Put troubles into their incident, each alone where they fail together; how many are new."""
    joined = _try_to_join(alike)
    if joined is None:
        joined = sum(_try_to_join([one]) or 0 for one in alike)
    return joined


def _try_to_join(alike: Sequence[Trouble]) -> int | None:
    """The same; None where several fail together, 0 where a single one does: it is set aside."""
    try:
        return _join(alike)
    except Exception as error:
        if is_busy(error):
            return 0
        if isinstance(error, DatabaseError | InterfaceError) and not connection.is_usable():
            raise
        if len(alike) == 1:
            one = alike[0]
            set_aside(troubles.PART, one.subject, thread=one.subject, error=error)
            return 0
    return None


def _join(alike: Sequence[Trouble]) -> int:
    """Put troubles of one group into their incident; how many were in none before."""
    workspace, agent, kind, digest = alike[0].group
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s::text, true)", (LOCK_WAIT,))
        first = min(alike, key=lambda one: one.since).reason[:REASON_MAX]
        cursor.execute(SQL.open, (uuid7(), workspace, agent, kind, digest, first))
        incident = cursor.fetchone()[0]
        state = fetch_named(
            SQL.still_new,
            {
                "subjects": [one.subject for one in alike],
                "since": [one.since for one in alike],
                "incident": incident,
                "kind": kind,
            },
        )
        if not state:
            # Another sweeper was here, and somebody closed that incident: none is opened again.
            transaction.set_rollback(True)
            return 0
        new = {row.subject for row in state}
        joining = [one for one in alike if one.subject in new]
        cursor.execute(
            SQL.join,
            (
                incident,
                workspace,
                kind,
                [one.subject for one in joining],
                [one.reason[:REASON_MAX] for one in joining],
                [one.since for one in joining],
            ),
        )
        added = sum(not row.known for row in state)
        affected = sum(not row.known or row.had_left for row in state)
        labels = deltas.canonical(_labels(workspace, joining)).decode()
        cursor.execute(SQL.count, (added, affected, labels, incident))
        if kind == LOST:
            _raise_alarms(joining)
        _announce(workspace)
    return len(joining)


def _raise_alarms(joining: Sequence[Trouble]) -> None:
    """Put an alarm for each loss in the outbox, beside what subscriptions get of the incident."""
    for one in joining:
        data = {"what": one.reason[:REASON_MAX]}
        outbox.add(LOST, workspace=one.workspace, thread=one.subject, data=data)


def _labels(workspace: UUID, joining: Sequence[Trouble]) -> list[str]:
    """Labels ("key=value") of these threads that a subscription of the workspace names."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT label FROM gp_subscription WHERE workspace_id = %s::uuid "
            "AND label <> ''",
            (workspace,),
        )
        wanted = {label for (label,) in cursor.fetchall()}
    has = {f"{key}={value}" for one in joining for key, value in one.labels.items()}
    return sorted(wanted & has)


def _leave(incident: UUID, gone: Sequence[Any]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT workspace_id FROM gp_incident WHERE id = %s::uuid FOR UPDATE SKIP LOCKED",
            (incident,),
        )
        locked = cursor.fetchone()
        if locked is None:
            return  # the next walk meets it again
        subjects, since = [row.subject for row in gone], [row.since for row in gone]
        cursor.execute(SQL.leave, (subjects, since, incident, incident))
        cursor.execute(SQL.close_ended, (incident,))
        _announce(locked[0])


def _announce(workspace: UUID) -> None:
    """Let the boards look again once it is committed."""
    changed = partial(board_changed.send_robust, sender=None, workspace=workspace)
    transaction.on_commit(changed, robust=True)
