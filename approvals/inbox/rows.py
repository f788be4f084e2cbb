"""A request as lists show it: one row each, with who has voted and whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.state import deltas

from ..rules.headlines import SENTENCE, headline
from ..rules.terms import Terms, readable_terms
from ..rules.verdicts import GATES, REPEAT
from ..rules.votes import Progress
from ..uncounted import Uncounted, count_votes

ARGS_SHOWN = 8_192  # bytes; larger arguments are for the request's own page
TOGETHER = ("approve", "reject")  # what can be said to several requests at once
ON_ITS_PAGE = "is decided on its own page, never together with others."

STANDING = "coalesce(nullif(a.standing_hash, ''), a.proposal_hash)"
_ROW = f"""
SELECT a.id, a.thread_id, th.title, th.agent, a.title, a.kind, a.tool, a.risk, a.status, a.outcome,
  {STANDING}, coalesce(a.decide_by, a.deadline), a.requested_at, a.decided_at, a.decided_by,
  a.decided_by_name, a.imported, a.terms::text, a.escalated_at IS NOT NULL,
  a.standing_hash <> '', a.tally::text, a.due_seats, a.due_except,
  CASE WHEN pg_column_size(coalesce(a.standing_args, a.args)) <= {ARGS_SHOWN}
    THEN coalesce(a.standing_args, a.args)::text END,
  {SENTENCE},
  EXISTS (SELECT 1 FROM gp_verification k WHERE k.thread_id = a.thread_id AND NOT k.intact)
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id
WHERE a.id = ANY(%s::uuid[]) AND a.workspace_id = %s::uuid
"""


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A request as a list shows it.

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
    progress: Progress
    args: Any
    sentence: str  # how the tool describes what stands; empty where it does not
    damaged: bool  # the record of its thread is

    @property
    def headline(self) -> str:
        """The request in one line."""
        return headline(self.title, self.sentence)

    @property
    def votes(self) -> int:
        """How many people have approved."""
        return self.progress.approvals

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
        if self.kind == REPEAT:
            return f"The same was done before: doing it again {ON_ITS_PAGE}"
        if self.kind not in GATES:
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
        found = cursor.fetchall()
    counted = count_votes(
        [
            Uncounted(ident, _json(terms), status == "pending", escalated)
            for ident, status, terms, escalated, tally in map(_OF_COUNT, found)
            if tally is None
        ]
    )
    return {row[0]: _row(row, counted.get(row[0])) for row in found}


# Of `_ROW`: id, status, terms, whether it escalated, tally.
_OF_COUNT = itemgetter(0, 8, 17, 18, 20)


def _row(r: tuple[Any, ...], progress: Progress | None) -> InboxRow:
    *columns, tally, due_seats, due_except, args, sentence, damaged = r
    values: list[Any] = columns
    terms = values[17] = readable_terms(_json(values[17]))
    if progress is None:
        progress = Progress.read(_json(tally), terms, due_seats=due_seats, due_except=due_except)
    return InboxRow(*(*values, progress, _json(args), sentence, damaged))


def _json(text: str | None) -> Any:
    return None if text is None else deltas.decode(text)
