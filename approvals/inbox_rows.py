"""A request as lists show it: one row each, with the votes for what stands now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import deltas

from .terms import Terms, terms_of

ARGS_SHOWN = 8_192  # bytes; larger arguments are for the request's own page
TOGETHER = ("approve", "reject")  # what can be said to several requests at once
ON_ITS_PAGE = "is decided on its own page, never together with others."

STANDING = "coalesce(nullif(a.standing_hash, ''), a.proposal_hash)"
# One statement per person and request is cheap: the index on gp_decision leads there.
VOTES = f"""
(SELECT count(*) FROM (SELECT DISTINCT ON (split_part(d.reviewer, '/', 1)) d.verdict
  FROM gp_decision d WHERE d.approval_id = a.id AND d.proposal_hash = {STANDING}
  AND d.verdict <> 'respond' ORDER BY split_part(d.reviewer, '/', 1), d.at DESC, d.id DESC) v
  WHERE v.verdict IN ('approve', 'edit'))
"""
_ROW = f"""
SELECT a.id, a.thread_id, th.title, th.agent, a.title, a.kind, a.tool, a.risk, a.status, a.outcome,
  {STANDING}, coalesce(a.decide_by, a.deadline), a.requested_at, a.decided_at, a.decided_by,
  a.decided_by_name, a.imported, a.terms::text, a.escalated_at IS NOT NULL,
  a.standing_hash <> '', CASE WHEN a.status = 'pending' THEN {VOTES} ELSE 0 END,
  CASE WHEN pg_column_size(coalesce(a.standing_args, a.args)) <= {ARGS_SHOWN}
    THEN coalesce(a.standing_args, a.args)::text END
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id
WHERE a.id = ANY(%s::uuid[]) AND a.workspace_id = %s::uuid
"""


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A request as a list shows it; `votes` counts those for what stands now.

    `args` is None where they are too large for a list; `standing_hash` is what a decision names.
    """

    id: UUID
    thread: UUID
    thread_title: str
    agent: str
    title: str
    kind: str
    tool: str
    risk: str
    status: str
    outcome: str
    standing_hash: str
    decide_by: datetime | None
    requested_at: datetime
    decided_at: datetime | None
    decided_by: str
    decided_by_name: str
    imported: bool
    terms: Terms
    escalated: bool
    edited: bool
    votes: int
    args: Any

    @property
    def needed(self) -> int:
        """How many people have to approve."""
        return sum(seat.count for seat in self.terms.stages)

    @property
    def opens(self) -> bool:
        """Whether it is decided on its own page only, and never together with others."""
        return bool(self.alone)

    @property
    def alone(self) -> str:
        """Why it is decided on its own page only, as a sentence; empty where it need not be."""
        if self.kind == "operation":
            return f"What a person wants to do to a thread {ON_ITS_PAGE}"
        if self.kind != "gate":
            return f"A question {ON_ITS_PAGE}"
        if self.risk == "high":
            return f"High risk {ON_ITS_PAGE}"
        if len(self.terms.stages) > 1:
            return f"What several people approve in turn {ON_ITS_PAGE}"
        return ""

    def not_together(self, verdict: str) -> str:
        """Why this verdict is not taken together with others; the one rule of page and API.

        Of what is closed the door itself says best who was first.
        """
        if not self.open:
            return ""
        if verdict in ("edit", "respond"):
            return f"With the verdict {verdict} a request {ON_ITS_PAGE}"
        return self.alone

    @property
    def open(self) -> bool:
        return self.status == "pending"


def rows(ids: Sequence[UUID], *, workspace: UUID) -> dict[UUID, InboxRow]:
    """Those of these requests that are of the workspace, as lists show them: one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_ROW, (list(ids), workspace))
        return {row[0]: _row(row) for row in cursor.fetchall()}


def _row(r: tuple[Any, ...]) -> InboxRow:
    values = list(r)
    values[17] = _terms(r[17])
    values[21] = None if r[21] is None else deltas.decode(r[21])
    return InboxRow(*values)


def _terms(text: str | None) -> Terms:
    """Terms as a list needs them: what cannot be read (a capsule may bring anything) has none."""
    try:
        return terms_of(None if text is None else deltas.decode(text))
    except (AttributeError, KeyError, TypeError, ValueError):
        return Terms()
