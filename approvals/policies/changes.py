"""The only writer of policies and spend caps; each change is an entry of the workspace's log.

Every verb locks the workspace's row first, so two admins follow each other. A change
is a new version; nothing is ever deleted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue, NotFound, StaleVersion
from checkpoints.limits import AGENT_MAX
from checkpoints.log import recorded
from checkpoints.log.recorded import RowChange
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from . import node_policies, queries
from .drafts import Draft, check
from .models import SpendCap
from .queries import CapRow, VersionRow

POLICIES_MAX = 200
MAX_COST = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
SCOPES, SPANS = ("thread", "agent", "workspace"), ("total", "day")


def make(workspace: UUID, draft: Draft, *, actor: str) -> VersionRow:
    """A new policy, after all others, switched on; raises InvalidValue."""
    check(draft)
    ident: UUID = uuid7()
    with transaction.atomic():
        _lock(workspace)
        there = queries.policies(workspace)
        if len(there) >= POLICIES_MAX:
            raise InvalidValue("name", f"there are {POLICIES_MAX} policies already")
        _unlike(there, draft.name, None)
        _do(
            "INSERT INTO gp_policy (id, workspace_id, name, position, active, number) VALUES "
            "(%s::uuid, %s::uuid, %s::varchar, %s::integer, true, 1)",
            (ident, workspace, draft.name, max((p.position for p in there), default=0) + 1),
        )
        version = _insert_version(ident, workspace, 1, draft, actor)
        made = RowChange({"gp_policy": [ident], "gp_policy_version": [version]})
        _log(K.POLICY_MADE, workspace, _event_data(ident, 1, draft), actor, made)
        return queries.policy(ident, workspace=workspace)


def change(policy_id: UUID, draft: Draft, *, workspace: UUID, seen: int, actor: str) -> VersionRow:
    """A new version; `seen` is the number that the admin looked at, StaleVersion for an older.

    Raises NotFound, InvalidValue. A draft that says what stands already changes nothing.
    """
    check(draft)
    with transaction.atomic():
        _lock(workspace)
        now = queries.policy(policy_id, workspace=workspace)
        if now.number != seen:
            raise StaleVersion(version=now.number)
        if draft.content() == draft_of(now).content():
            return now
        _unlike(queries.policies(workspace), draft.name, policy_id)
        number = now.number + 1
        _do(
            "UPDATE gp_policy SET number = %s::integer, name = %s::varchar WHERE id = %s::uuid "
            "AND number = %s::integer",
            (number, draft.name, policy_id, seen),
        )
        version = _insert_version(policy_id, workspace, number, draft, actor)
        changed = RowChange(
            {"gp_policy": [policy_id]},
            columns=("number", "name"),
            made={"gp_policy_version": [version]},
        )
        _log(K.POLICY_CHANGED, workspace, _event_data(policy_id, number, draft), actor, changed)
        return queries.policy(policy_id, workspace=workspace)


def switch(policy_id: UUID, active: bool, *, workspace: UUID, actor: str) -> bool:
    """Switch a policy on or off; False when it is so already."""
    with transaction.atomic():
        _lock(workspace)
        now = queries.policy(policy_id, workspace=workspace)
        if now.active == active:
            return False
        _do(
            "UPDATE gp_policy SET active = %s::boolean WHERE id = %s::uuid",
            (active, policy_id),
        )
        payload = {"policy": str(policy_id), "name": now.name, "active": active}
        switched = RowChange({"gp_policy": [policy_id]}, columns=("active",))
        _log(K.POLICY_SWITCHED, workspace, payload, actor, switched)
    return True


def move(policy_id: UUID, position: int, *, workspace: UUID, actor: str) -> bool:
    """Put a policy at this place, counted from 1; False when it stands there. The first decides."""
    with transaction.atomic():
        _lock(workspace)
        now = queries.policy(policy_id, workspace=workspace)
        order = [p.policy for p in queries.policies(workspace)]
        if not 1 <= position <= len(order):
            raise InvalidValue("position", f"must be from 1 to {len(order)}")
        former = order.index(policy_id) + 1
        if former == position:
            return False
        was = recorded.rows_now({"gp_policy": order})
        order.remove(policy_id)
        order.insert(position - 1, policy_id)
        _do(
            "UPDATE gp_policy p SET position = o.place FROM unnest(%s::uuid[]) WITH ORDINALITY "
            "o(id, place) WHERE p.id = o.id",
            (order,),
        )
        payload = {"policy": str(policy_id), "name": now.name, "position": [former, position]}
        moved = RowChange({"gp_policy": order}, columns=("position",), was=was)
        _log(K.POLICY_CHANGED, workspace, payload, actor, moved)
    return True


def set_cap(
    workspace: UUID,
    *,
    scope: str,
    per: str,
    max_cost: str,
    agent: str = "",
    active: bool = True,
    actor: str,
) -> CapRow:
    """Make or change the cap of this scope, agent and span; raises InvalidValue."""
    cost = _checked_cap(scope, per, max_cost, agent)
    key = {"scope": scope, "agent": agent, "per": per}
    values = {**key, "max_cost": cost, "active": active}
    with transaction.atomic():
        row = recorded_rows.lock(SpendCap, workspace, **key) or SpendCap(workspace_id=workspace)
        data = values | {"max_cost": f"{cost:f}"}
        recorded_rows.save(row, values, K.CAP_CHANGED, actor=actor, data=data)
        return queries.cap(row.id, workspace=workspace)


def draft_of(row: VersionRow) -> Draft:
    """Copy a version into a draft."""
    return Draft(
        name=row.name,
        condition=row.condition,
        action=row.action,
        terms=row.terms,
        deadline=row.deadline,
        risk=row.risk,
        title=row.title,
        note=row.note,
    )


def _checked_cap(scope: str, per: str, max_cost: str, agent: str) -> Decimal:
    for path, value in (("agent", agent), ("max_cost", max_cost)):
        deltas.check(value, path)
    if scope not in SCOPES:
        raise InvalidValue("scope", f"must be one of {', '.join(SCOPES)}")
    if per not in SPANS:
        raise InvalidValue("per", f"must be one of {', '.join(SPANS)}")
    if len(agent) > AGENT_MAX:
        raise InvalidValue("agent", f"is longer than {AGENT_MAX} characters")
    if agent and scope == "workspace":
        raise InvalidValue("agent", "goes with the scopes thread and agent only")
    if not MAX_COST.fullmatch(max_cost):
        raise InvalidValue(
            "max_cost",
            "must be a decimal such as 25.00: 1 to 12 digits, and up to 6 after the point",
        )
    return Decimal(max_cost)


def _event_data(policy: UUID, number: int, draft: Draft) -> dict[str, Any]:
    content = hashlib.sha256(deltas.canonical(draft.content())).hexdigest()
    return {
        "policy": str(policy),
        "name": draft.name,
        "number": number,
        "action": draft.action,
        "condition": draft.condition,
        "content": content,
    }


def _unlike(there: Sequence[VersionRow], name: str, own: UUID | None) -> None:
    if any(p.name == name and p.policy != own for p in there):
        raise InvalidValue("name", "is the name of another policy")


def _insert_version(policy: UUID, workspace: UUID, number: int, draft: Draft, actor: str) -> UUID:
    ident: UUID = uuid7()
    try:
        _do(
            "INSERT INTO gp_policy_version (id, workspace_id, policy_id, number, condition, "
            "action, terms, deadline, risk, title, note, made_by) VALUES (%s::uuid, %s::uuid, "
            "%s::uuid, %s::integer, %s::text, %s::varchar, %s::jsonb, %s::float8, %s::varchar, "
            "%s::varchar, %s::text, %s::varchar)",
            (
                ident,
                workspace,
                policy,
                number,
                draft.condition,
                draft.action,
                deltas.canonical(draft.terms.to_json()).decode(),
                draft.deadline,
                draft.risk,
                draft.title,
                draft.note,
                actor,
            ),
        )
    except IntegrityError as error:
        raise StaleVersion(version=number) from error
    return ident


def _log(
    kind: K,
    workspace: UUID,
    data: Mapping[str, Any],
    actor: str,
    change: RowChange,
) -> None:
    store.log_setting(kind, workspace, data=data, actor=actor, change=change)
    node_policies.forget()
    transaction.on_commit(node_policies.forget)


def _lock(workspace: UUID) -> None:
    if not _do("SELECT 1 FROM gp_workspace WHERE id = %s::uuid FOR NO KEY UPDATE", (workspace,)):
        raise NotFound("There is no such workspace.")


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
