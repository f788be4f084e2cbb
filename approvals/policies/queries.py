"""The only reader of policies, their versions and spend caps; frozen dataclasses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID

from django.db import connection

from checkpoints.errors import NotFound
from checkpoints.postgres import reads as prepared
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas

from ..rules.terms import Terms


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version of a policy, with the policy as it stands now.

    `number` is that of this version, `newest` that of the policy. `deadline`: seconds to decide.
    """

    policy: UUID
    workspace: UUID
    name: str
    position: int
    active: bool
    newest: int
    number: int
    condition: str
    action: Literal["ask", "allow", "block"]
    terms: Terms
    deadline: float | None
    risk: str
    title: str
    note: str
    made_by: str
    made_at: datetime

    @property
    def label(self) -> str:
        """The name by which requests refer to it: `<uuid>@3`."""
        return f"{self.policy}@{self.number}"


@dataclass(frozen=True, slots=True)
class CapRow:
    """A spend cap; `agent` is empty where all are meant."""

    id: UUID
    workspace: UUID
    scope: Literal["thread", "agent", "workspace"]
    agent: str
    per: Literal["total", "day"]
    max_cost: Decimal
    active: bool

    @property
    def shown(self) -> str:
        """The amount with two decimals at least."""
        return money(self.max_cost)

    @property
    def plain(self) -> str:
        """The same as programs read it, digits and a point."""
        return self.shown.replace(",", "")


_VERSION = """
SELECT p.id AS policy, p.workspace_id AS workspace, p.name, p.position, p.active,
  p.number AS newest, v.number, v.condition, v.action, v.terms::text, v.deadline, v.risk,
  v.title, v.note, v.made_by, v.made_at
FROM gp_policy p JOIN gp_policy_version v ON v.policy_id = p.id
"""
_NEWEST = f"{_VERSION} AND v.number = p.number "
# The active policies in their order, each with its version; `mark_of` computes the same.
_MARK = (
    "(SELECT encode(sha256(convert_to(coalesce(string_agg(p.id::text || '@' || p.number::text, "
    "',' ORDER BY p.position, p.id), ''), 'UTF8')), 'hex') FROM gp_policy p "
    "WHERE p.workspace_id = %s::uuid AND p.active)"
)
_CAP = "SELECT id, workspace_id, scope, agent, per, max_cost, active FROM gp_spend_cap "


def money(amount: Decimal) -> str:
    """An amount as people write it: 2.50, 0.000125, 1,234.50."""
    whole, _, cents = f"{amount.normalize():,f}".partition(".")
    return f"{whole}.{cents:0<2}"


def version_named(label: str) -> tuple[UUID, int] | None:
    """The policy and the number of the version that a label names; None where it names none."""
    policy, _, number = label.rpartition("@")
    try:
        return UUID(policy), int(number)
    except ValueError:
        return None


def active(workspace: UUID) -> list[VersionRow]:
    """The newest versions of a workspace's active policies, in their order; one query."""
    return _versions(
        _NEWEST + "WHERE p.workspace_id = %s::uuid AND p.active ORDER BY p.position, p.id",
        (workspace,),
    )


def mark_of(active_ones: Sequence[VersionRow]) -> str:
    """Hash these active policies, their versions and their order: hex sha256."""
    return sha256(",".join(version.label for version in active_ones).encode()).hexdigest()


def mark(workspace: UUID) -> str:
    """`mark_of` the active policies of a workspace as they are now."""
    return str(prepared.fetch(f"SELECT {_MARK}", (workspace,))[0][0])


def unchanged(workspace: UUID, seen: str) -> prepared.Query:
    """The condition that the active policies are those of `seen`, for a guarded statement."""
    return f"{_MARK} = %s::text", (workspace, seen)


def policies(workspace: UUID) -> list[VersionRow]:
    """All policies of a workspace in their order, each in its newest version."""
    return _versions(
        _NEWEST + "WHERE p.workspace_id = %s::uuid ORDER BY p.position, p.id", (workspace,)
    )


def active_everywhere() -> list[VersionRow]:
    """The active policies of all workspaces."""
    return _versions(_NEWEST + "WHERE p.active ORDER BY p.workspace_id, p.position, p.id", ())


def policy(policy_id: UUID, *, workspace: UUID) -> VersionRow:
    """One policy in its newest version; NotFound also for those of other workspaces."""
    versions = _versions(
        _NEWEST + "WHERE p.id = %s::uuid AND p.workspace_id = %s::uuid", (policy_id, workspace)
    )
    if not versions:
        raise NotFound("There is no such policy in this workspace.")
    return versions[0]


def versions(policy_id: UUID, *, workspace: UUID) -> list[VersionRow]:
    """All versions of a policy, newest first."""
    return _versions(
        _VERSION + "WHERE p.id = %s::uuid AND p.workspace_id = %s::uuid ORDER BY v.number DESC",
        (policy_id, workspace),
    )


def waiting(policy_id: UUID, *, workspace: UUID) -> int:
    """Count the requests that wait under any version of a policy."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM gp_approval WHERE workspace_id = %s::uuid "
            "AND status = 'pending' AND starts_with(policy_version, %s::text)",
            (workspace, f"{policy_id}@"),
        )
        return int(cursor.fetchone()[0])


_ORDER = "ORDER BY scope, agent, per"
_CAPS = f"{_CAP}WHERE workspace_id = %s::uuid {_ORDER}"
_ACTIVE = f"{_CAP}WHERE workspace_id = %s::uuid AND active {_ORDER}"
_ACTIVE_FOR = (
    f"{_CAP}WHERE workspace_id = (SELECT th.workspace_id FROM gp_thread th "
    f"WHERE th.id = %s::uuid) AND active {_ORDER}"
)


def active_caps_asked(thread: UUID) -> prepared.Query:
    """The query of `caps` for the active ones, where only a thread is known."""
    return _ACTIVE_FOR, (thread,)


def caps(
    workspace: UUID, *, active_only: bool = False, rows: Sequence[Any] | None = None
) -> list[CapRow]:
    """The spend caps of a workspace; `rows` answer `active_caps_asked` where somebody has them."""
    if rows is None:
        rows = prepared.fetch(_ACTIVE if active_only else _CAPS, (workspace,))
    return [CapRow(*row) for row in rows]


def cap(cap_id: UUID, *, workspace: UUID) -> CapRow:
    """One spend cap; NotFound also for those of other workspaces."""
    results = [one for one in caps(workspace) if one.id == cap_id]
    if not results:
        raise NotFound("There is no such spend cap in this workspace.")
    return results[0]


def carried_out(approval_id: UUID) -> tuple[str, str] | None:
    """(done or failed, what there is to say) of an approved operation; None: not tried."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT outcome, said FROM gp_carried_out WHERE approval_id = %s::uuid", (approval_id,)
        )
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1])


def _versions(sql: str, params: Sequence[Any]) -> list[VersionRow]:
    return [
        VersionRow(**row._asdict() | {"terms": Terms.from_json(deltas.decode(row.terms))})
        for row in fetch_named(sql, params)
    ]


def any_active(workspace: UUID) -> tuple[bool, bool, bool]:
    """(is any policy active, does the condition of one have the word `node`, does one block)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) > 0, coalesce(bool_or(position('node' IN v.condition) > 0), false), "
            "coalesce(bool_or(v.action = 'block'), false) "
            "FROM gp_policy p JOIN gp_policy_version v "
            "ON v.policy_id = p.id AND v.number = p.number "
            "WHERE p.workspace_id = %s::uuid AND p.active",
            (workspace,),
        )
        some, about_nodes, blocks = cursor.fetchone()
    return bool(some), bool(about_nodes), bool(blocks)


def any_about(workspace: UUID, subject: Literal["operation"]) -> bool:
    """Return whether the condition of an active policy has this word."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM gp_policy p JOIN gp_policy_version v "
            "ON v.policy_id = p.id AND v.number = p.number WHERE p.workspace_id = %s::uuid "
            "AND p.active AND position(%s::text IN v.condition) > 0)",
            (workspace, subject),
        )
        return bool(cursor.fetchone()[0])
