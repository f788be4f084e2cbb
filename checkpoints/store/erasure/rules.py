"""Retention rules: how many days after its end a thread is erased; set by admins, on record."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue
from checkpoints.limits import AGENT_MAX
from checkpoints.log.recorded import RowChange
from checkpoints.queries.erasures import rules as queries
from checkpoints.queries.erasures.rules import RuleRow
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent
from .requests import announce

FLOOR_DAYS, MOST_DAYS = 1, 36_500


def check_days(days: int) -> None:
    """Raise InvalidValue for a number of days that no rule takes."""
    if not FLOOR_DAYS <= days <= MOST_DAYS:
        raise InvalidValue("days", f"must be from {FLOOR_DAYS} to {MOST_DAYS:,}")


def set_rule(
    workspace: UUID, *, agent: str, days: int, archive: bool, active: bool, actor: str
) -> RuleRow:
    """Set the rule of an agent, or with "" that of all agents without one of their own."""
    deltas.check(agent, "agent")
    if len(agent) > AGENT_MAX:
        raise InvalidValue("agent", f"is longer than {AGENT_MAX} characters")
    check_days(days)
    with transaction.atomic():
        lock_workspaces([workspace])
        former = queries.rule_of(workspace, agent)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO gp_retention_rule (id, workspace_id, agent, days, archive, active, "
                "set_by) VALUES (%s::uuid, %s::uuid, %s::varchar, %s::integer, %s::boolean, "
                "%s::boolean, %s::varchar) ON CONFLICT (workspace_id, agent) DO UPDATE SET "
                "days = EXCLUDED.days, archive = EXCLUDED.archive, active = EXCLUDED.active, "
                "set_by = EXCLUDED.set_by, set_at = clock_timestamp() RETURNING id",
                (uuid7(), workspace, agent, days, archive, active, actor),
            )
            ident = cursor.fetchone()[0]
        data = {
            "rule": str(ident),
            "agent": agent,
            "days": days,
            "archive": archive,
            "active": active,
        }
        columns = ("days", "archive", "active", "set_by", "set_at") if former else None
        change = RowChange({"gp_retention_rule": [ident]}, columns=columns)
        append(workspace, [NewEvent(K.RETENTION_CHANGED, data, actor)], change)
        announce(workspace)
    return next(row for row in queries.rules(workspace) if row.id == ident)
