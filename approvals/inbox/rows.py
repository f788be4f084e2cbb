"""A request as lists show it: one row each, with who has voted and whose turn it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from ..rules.headlines import SENTENCE, headline
from ..rules.terms import Terms, readable_terms
from ..rules.verdicts import GATES, REPEAT
from ..rules.votes import Progress
from ..rules.weight import Weight, weight_of
from ..states import WITH_ARGS
from ..uncounted import Uncounted, count_votes

ARGS_SHOWN = 8_192  # bytes; larger arguments are for the request's own page
ON_ITS_PAGE = "is decided on its own page, never together with others."

SQL = sql_file(__file__, args_shown=str(ARGS_SHOWN), sentence=SENTENCE)


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
    undo: str  # how its tool undoes it; empty where nothing does
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
    framework: str  # what an agent that works elsewhere is written in, as it says

    @property
    def headline(self) -> str:
        """The request in one line."""
        return headline(self.title, self.sentence)

    @property
    def weight(self) -> Weight:
        """The reason for a second question before its approval; empty where one is enough."""
        return weight_of(kind=self.kind, risk=self.risk, tool=self.tool, undo=self.undo)

    @property
    def votes(self) -> int:
        """The number of people who have approved."""
        return self.progress.approvals

    @property
    def needed(self) -> int:
        """The number of people who have to approve."""
        return sum(seat.count for seat in self.terms.stages)

    @property
    def opens(self) -> bool:
        """Answer True if it is decided on its own page only, never together with others."""
        return bool(self.alone)

    @property
    def alone(self) -> str:
        """Explain why it is decided on its own page only, as a sentence; else empty."""
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
        """Explain why this verdict is not taken together with others; the one rule of page and API.

        Empty for a closed request: deciding it answers who was first.
        """
        if not self.open:
            return ""
        if verdict in WITH_ARGS:
            return f"With the verdict {verdict} a request {ON_ITS_PAGE}"
        return self.alone

    @property
    def open(self) -> bool:
        return self.status == "pending"


def rows(ids: Sequence[UUID], *, workspace: UUID) -> dict[UUID, InboxRow]:
    """Those of these requests that are of the workspace, as lists show them: one statement."""
    requests = fetch_named(SQL.requests, (list(ids), workspace))
    counted = count_votes(
        [
            Uncounted(row.id, _json(row.terms), row.status == "pending", row.escalated)
            for row in requests
            if row.tally is None
        ]
    )
    return {row.id: _row(row, counted.get(row.id)) for row in requests}


def _row(row: Any, progress: Progress | None) -> InboxRow:
    values = row._asdict()
    terms = values["terms"] = readable_terms(_json(row.terms))
    values["args"] = _json(row.args)
    tally, seats, but = (values.pop(name) for name in ("tally", "due_seats", "due_except"))
    if progress is None:
        progress = Progress.read(_json(tally), terms, due_seats=seats, due_except=but)
    return InboxRow(progress=progress, **values)


def _json(text: str | None) -> Any:
    return None if text is None else deltas.decode(text)
