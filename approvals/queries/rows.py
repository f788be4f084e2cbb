"""Requests for approval as they are stored: frozen dataclasses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state import deltas

from ..rules.headlines import headline, lines
from ..rules.terms import readable_terms
from ..rules.verdicts import GATES, REPEAT
from ..rules.votes import Progress
from ..rules.weight import Weight, weight_of
from ..states import NOBODY
from ..uncounted import Uncounted, count_votes

SQL = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A request for approval with its proposal and, once decided, its outcome.

    `args`, `proposal_hash` and `deadline` are what was asked for and never change; what stands now,
    and what a decision has to name, are `shown_args`, `standing_hash` and `decide_by`.

    `imported`: it came with a capsule, so who decided it is known to another installation only.
    """

    id: UUID
    workspace: UUID
    thread: UUID
    thread_title: str
    agent: str
    agent_version_id: UUID
    branch: int
    step: int
    node: str
    index: int
    key: str
    revision: int
    kind: str
    tool: str
    args: Any
    proposal_hash: str
    title: str
    description: str
    reasons: list[str]
    risk: str
    schema: Any
    undo: str
    deadline: datetime | None
    status: str
    outcome: str
    comment: str
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    decided_args: Any
    effective_at: datetime | None
    requested_at: datetime
    imported: bool = False
    policy_version: str = "author"
    terms: Any = None
    standing_args: Any = None
    standing_hash: str = ""
    decide_by: datetime | None = None
    escalated_at: datetime | None = None
    what_next: str = ""
    policies: str = ""  # names those that were asked, as `queries_policies.mark_of` does
    tally: Any = None
    due_seats: Sequence[str] = ()
    due_except: Sequence[str] = ()
    repeats: Any = None  # of a repeat: what was done before
    sentence: str = ""  # how the tool describes what was asked
    origin: Any = None  # on whose behalf a child asks: its parents, from the root down
    # Whether the record of its thread is: no part of the request.
    damaged: bool = field(default=False, compare=False)

    @property
    def shown_args(self) -> Any:
        """The arguments that stand now: an edit's, else those that were asked for."""
        return self.args if self.standing_args is None else self.standing_args

    @property
    def shown_sentence(self) -> str:
        """The tool's description of the current arguments; empty without one, and after an edit."""
        return self.sentence if self.standing_args is None else ""

    @property
    def lines(self) -> tuple[str, str]:
        """(title, the tool's sentence); the second is empty where one line says both."""
        return lines(self.title, self.shown_sentence)

    @property
    def headline(self) -> str:
        """The request in one line."""
        return headline(self.title, self.shown_sentence)

    @property
    def open(self) -> bool:
        """Answer True if somebody can still decide it."""
        return self.status == "pending"

    @property
    def blocked(self) -> bool:
        """Answer True if a policy refused it by itself: nobody was asked."""
        by_policy = self.decided_by == f"policy:{self.policy_version}"
        return by_policy and self.outcome == "reject" and self.comment != NOBODY

    @property
    def unasked(self) -> bool:
        """Answer True if a policy decided it by itself."""
        by_policy = self.decided_by == f"policy:{self.policy_version}"
        return self.blocked or (by_policy and self.outcome == "approve")

    @property
    def progress(self) -> Progress:
        """The votes and the turn, as the gate wrote them with the last verdict."""
        terms, seats = readable_terms(self.terms), self.due_seats
        return Progress.read(self.tally, terms, due_seats=seats, due_except=self.due_except)

    @property
    def effect(self) -> bool:
        """Answer True if approving it makes something happen outside."""
        return self.gate and bool(self.tool)

    @property
    def weight(self) -> Weight:
        """The reason for a second question before its approval; empty where one is enough."""
        return weight_of(kind=self.kind, risk=self.risk, tool=self.tool, undo=self.undo)

    @property
    def gate(self) -> bool:
        """Answer True if the agent waits for it before an action."""
        return self.kind in GATES

    @property
    def repeat(self) -> bool:
        """Answer True if the same was done before."""
        return self.kind == REPEAT


# The statement reads the columns in the order of the fields.
COLUMNS: Final = tuple(f.name for f in fields(ApprovalRow))
_JSON: Final = (
    "args", "reasons", "schema", "decided_args", "terms", "standing_args", "tally", "repeats",
    "origin",
)  # fmt: skip


def requests(where: str, params: Sequence[Any]) -> list[ApprovalRow]:
    """Requests by a condition on `a` (the request) and `th` (its thread); for this floor."""
    return read(fetch_named(f"{SQL.request} {where}", params))


def read(rows: Iterable[Sequence[Any]]) -> list[ApprovalRow]:
    """Rows with COLUMNS as requests, those without a count of their votes with one."""
    requests = [_request(row) for row in rows]
    counted = count_votes(
        [
            Uncounted(row.id, row.terms, row.open, row.escalated_at is not None)
            for row in requests
            if row.tally is None
        ]
    )
    return [replace(r, **counted[r.id].columns) if r.id in counted else r for r in requests]


def _request(row: Sequence[Any]) -> ApprovalRow:
    values = dict(zip(COLUMNS, row, strict=True))
    for name in _JSON:
        values[name] = decoded(values[name])
    return ApprovalRow(**values)


def decoded(text: str | None) -> Any:
    """A stored value; None where there is none."""
    return None if text is None else deltas.decode(text)
