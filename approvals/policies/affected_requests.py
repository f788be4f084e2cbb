"""Which requests a change of the policies touches, counted before it is made; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas
from checkpoints.tables.readers import decoded

from ..rules.terms import Terms, terms_of
from .drafts import Draft
from .matches import Facts, first_match
from .queries import VersionRow
from .strictness import Demand, met, stricter

SQL = sql_file(__file__)
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
class PolicyPreview:
    """Number of requests that a change touches, by their state; nothing is changed.

    Counts open ones under an older version of the policy, and all that would need more than when
    they were created. `complete` is false if there are more than were examined.
    """

    open: int = 0
    held: int = 0
    settled: Annotated[
        int, Field(description="Decided for good, and their effect has not started.")
    ] = 0
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
    index = next(i for i, row in enumerate(there) if row.policy == (policy or _NEW.policy))
    row = there.pop(index)
    if draft is not None:
        payload = {name: getattr(draft, name) for name in DRAFTED}
        row = replace(row, **payload, number=row.number + 1)
    if active is not None:
        row = replace(row, active=active)
    there.insert(index if position is None else position - 1, row)
    return [one for one in there if one.active]


def touched(
    workspace: UUID, active: Sequence[VersionRow], *, older_than: str = ""
) -> PolicyPreview:
    """Count the requests that need more under these active policies, in their order.

    `older_than` is the label (`<uuid>@3`) of a policy's newest version: requests that wait under an
    older one count as well.
    """
    counts = {"pending": 0, "held": 0, "settled": 0}
    looked_at = 0
    for row in undone(workspace):
        looked_at += 1
        counts[row.status] += is_touched(row, active, older_than)
    return PolicyPreview(counts["pending"], counts["held"], counts["settled"], looked_at < AT_MOST)


def is_touched(row: Undone, active: Sequence[VersionRow], older_than: str) -> bool:
    """Answer True if an open request is under an older version, or one needs more than it met."""
    return (row.open and _is_older(row.policy_version, older_than)) or _demands_more(row, active)


def _demands_more(row: Undone, active: Sequence[VersionRow]) -> bool:
    rule = first_match(active, row.facts)
    if rule is None or rule.action == "allow":
        # What the author's own gate demands the engine knows, when it gets there.
        return False
    if rule.action == "block":
        return True
    return bool(stricter(Demand(True, rule.risk or row.met.risk, rule.terms), row.met))


def _is_older(version: str, newest: str) -> bool:
    """Answer True if a request is under an older version of this policy."""
    policy, _, _ = newest.rpartition("@")
    return bool(policy) and version.startswith(f"{policy}@") and version != newest


def undone(workspace: UUID, *, at_most: int | None = AT_MOST) -> Iterator[Undone]:
    """Requests of effects that may still happen, by id."""
    after, left = UUID(int=0), at_most
    while left is None or left > 0:
        limit = _AT_ONCE if left is None else min(_AT_ONCE, left)
        rows = fetch_named(SQL.undone, {"workspace": workspace, "after": after, "limit": limit})
        for row in rows:
            yield _undone(workspace, row)
        if len(rows) < limit:
            return
        after, left = rows[-1].id, None if left is None else left - limit


def _undone(workspace: UUID, row: Any) -> Undone:
    facts = Facts(
        workspace=workspace,
        thread=row.thread,
        agent=row.agent,
        tool=row.tool,
        args=deltas.decode(row.args),
        risk=row.risk,
        cost=row.cost,
        labels=deltas.decode(row.labels),
        started_by=row.started_by,
        node=row.node,
        undo=row.undo,
    )
    demand = met(row.risk, terms_of(decoded(row.terms)), row.escalated, row.decided_by)
    return Undone(row.id, row.thread, row.status, row.policy_version, demand, facts)
