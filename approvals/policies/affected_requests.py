"""Which requests a change of the policies touches, counted before it is made; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import connection

from checkpoints.state import deltas

from ..rules.terms import Terms, terms_of
from .drafts import Draft
from .matches import Facts, first_match
from .queries import VersionRow
from .strictness import Demand, met, stricter

AT_MOST: Final = 10_000
_AT_ONCE: Final = 500
DRAFTED: Final = tuple(f.name for f in fields(Draft))
_NEW: Final = VersionRow(
    policy=UUID(int=0),
    workspace=UUID(int=0),
    name="",
    position=0,
    active=True,
    newest=0,
    number=0,
    condition="false",
    action="ask",
    terms=Terms(),
    deadline=None,
    risk="",
    title="",
    note="",
    made_by="",
    made_at=datetime(1970, 1, 1, tzinfo=UTC),
)
# What may still happen: open, held, and settled but not started. Settled ones are looked for at
# the step where their thread stands, since the past of a workspace grows without end.
_COLUMNS = """a.id, a.thread_id, a.status, a.policy_version, a.risk, a.decided_by, a.terms::text,
  a.escalated_at IS NOT NULL, a.tool,
  coalesce(a.decided_args, a.standing_args, a.args)::text, th.agent, th.cost::text,
  th.labels::text, th.started_by"""
_UNDONE = f"""
SELECT {_COLUMNS} FROM gp_approval a
JOIN gp_thread th ON th.id = a.thread_id
WHERE a.workspace_id = %(workspace)s::uuid AND a.kind IN ('gate', 'repeat') AND NOT a.imported
  AND a.status IN ('pending', 'held') AND a.id > %(after)s::uuid
UNION ALL
SELECT {_COLUMNS} FROM gp_thread th
JOIN gp_approval a ON a.thread_id = th.id AND a.branch = th.branch AND a.step = th.step + 1
WHERE th.workspace_id = %(workspace)s::uuid
  AND th.status IN ('queued', 'running', 'waiting', 'sleeping', 'paused', 'attention')
  AND a.kind IN ('gate', 'repeat') AND NOT a.imported AND a.status = 'settled'
  AND a.outcome IN ('approve', 'edit') AND a.id > %(after)s::uuid
  AND NOT EXISTS (SELECT 1 FROM gp_activity x WHERE x.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM gp_approval n WHERE n.thread_id = a.thread_id
    AND n.branch = a.branch AND n.step = a.step AND n.node = a.node AND n.index = a.index
    AND n.key = a.key AND n.revision > a.revision)
ORDER BY 1 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Undone:
    """A request of an effect that may still happen; `facts` are what policies look at."""

    id: UUID
    thread: UUID
    status: str
    policy_version: str
    met: Demand
    facts: Facts

    @property
    def open(self) -> bool:
        return self.status == "pending"


@dataclass(frozen=True, slots=True)
class Touched:
    """How many requests need more than before, by where they stand; `complete`: all were looked at.

    `open` ones also where they stand under an older version of the policy that changes.
    """

    open: int = 0
    held: int = 0
    settled: int = 0
    complete: bool = True

    @property
    def total(self) -> int:
        return self.open + self.held + self.settled


def changed(
    rows: Sequence[VersionRow],
    policy: UUID | None = None,
    *,
    draft: Draft | None = None,
    active: bool | None = None,
    position: int | None = None,
) -> list[VersionRow]:
    """The active policies, in their order, after a change of one; None is a new one at the end."""
    there = list(rows)
    if policy is None:
        there.append(_NEW)
    place = next(i for i, row in enumerate(there) if row.policy == (policy or _NEW.policy))
    row = there.pop(place)
    if draft is not None:
        said = {name: getattr(draft, name) for name in DRAFTED}
        row = replace(row, **said, number=row.number + 1)
    if active is not None:
        row = replace(row, active=active)
    there.insert(place if position is None else position - 1, row)
    return [one for one in there if one.active]


def touched(workspace: UUID, active: Sequence[VersionRow], *, older_than: str = "") -> Touched:
    """What becomes of requests under these active policies, in their order.

    `older_than` is the label (`<uuid>@3`) of a policy's newest version: what waits under an older
    one counts as well.
    """
    counts = {"pending": 0, "held": 0, "settled": 0}
    looked_at = 0
    for row in undone(workspace):
        looked_at += 1
        counts[row.status] += is_touched(row, active, older_than)
    return Touched(counts["pending"], counts["held"], counts["settled"], looked_at < AT_MOST)


def is_touched(row: Undone, active: Sequence[VersionRow], older_than: str) -> bool:
    """Whether an open request stands under an older version, or one needs more than it met."""
    return (row.open and _is_older(row.policy_version, older_than)) or _demands_more(row, active)


def _demands_more(row: Undone, active: Sequence[VersionRow]) -> bool:
    rule = first_match(active, row.facts)
    if rule is None or rule.action == "allow":
        # What the author's own gate demands the engine knows, when it gets there.
        return False
    return bool(stricter(Demand(True, rule.risk or row.met.risk, rule.terms), row.met))


def _is_older(version: str, newest: str) -> bool:
    """Whether a request stands under an older version of this policy."""
    policy, _, _ = newest.rpartition("@")
    return bool(policy) and version.startswith(f"{policy}@") and version != newest


def undone(workspace: UUID, *, at_most: int | None = AT_MOST) -> Iterator[Undone]:
    """Requests of effects that may still happen, by id."""
    after, left = UUID(int=0), at_most
    while left is None or left > 0:
        limit = _AT_ONCE if left is None else min(_AT_ONCE, left)
        with connection.cursor() as cursor:
            cursor.execute(_UNDONE, {"workspace": workspace, "after": after, "limit": limit})
            found = cursor.fetchall()
        for row in found:
            yield _row(workspace, *row)
        if len(found) < limit:
            return
        after, left = found[-1][0], None if left is None else left - limit


def _row(
    workspace: UUID,
    ident: UUID,
    thread: UUID,
    status: str,
    policy_version: str,
    risk: str,
    decided_by: str,
    terms: str | None,
    escalated: bool,
    tool: str,
    args: str,
    agent: str,
    cost: str,
    labels: str,
    started_by: str,
) -> Undone:
    facts = Facts(
        workspace=workspace,
        thread=thread,
        agent=agent,
        tool=tool,
        args=deltas.decode(args),
        risk=risk,
        cost=cost,
        labels=deltas.decode(labels),
        started_by=started_by,
    )
    read = terms_of(None if terms is None else deltas.decode(terms))
    return Undone(
        ident, thread, status, policy_version, met(risk, read, escalated, decided_by), facts
    )
