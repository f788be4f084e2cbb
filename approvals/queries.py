"""The only reader of approvals for upper floors; frozen dataclasses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.errors import InvalidValue, NotFound
from checkpoints.postgres import reads as prepared
from checkpoints.state import deltas
from checkpoints.views import Page

from .rules.headlines import headline
from .rules.terms import readable_terms
from .rules.verdicts import GATES, REPEAT
from .rules.votes import Progress, Vote
from .uncounted import Uncounted, count_votes

OPEN_CAP = 1_000  # open requests are shown as a number up to this
# Triggers that keep rows as they were written.
GUARDS = {
    "gp_decision": ("gp_decision_row", "gp_decision_table"),
    "gp_approval": ("gp_approval_kept", "gp_approval_table"),
    "gp_policy": ("gp_policy_kept", "gp_policy_table"),
    "gp_policy_version": ("gp_policy_version_row", "gp_policy_version_table"),
    "gp_carried_out": ("gp_carried_out_row", "gp_carried_out_table"),
    "gp_hook_delivery": ("gp_hook_delivery_row", "gp_hook_delivery_table"),
    "gp_approval_look": ("gp_approval_look_row", "gp_approval_look_table"),
}
_APPROVAL = """
SELECT a.id, a.workspace_id, a.thread_id, th.title, th.agent, a.agent_version_id, a.branch, a.step,
  a.node, a.index, a.key, a.revision, a.kind, a.tool, a.args::text, a.proposal_hash, a.title,
  a.description, a.reasons::text, a.risk, a.schema::text, a.undo, a.deadline, a.status, a.outcome,
  a.comment, a.decided_by, a.decided_by_name, a.decided_at, a.decided_args::text, a.effective_at,
  a.requested_at, a.imported, a.policy_version, a.terms::text, a.standing_args::text,
  coalesce(nullif(a.standing_hash, ''), a.proposal_hash), coalesce(a.decide_by, a.deadline),
  a.escalated_at, a.what_next, a.policies, a.tally::text, a.due_seats, a.due_except,
  a.repeats::text, a.sentence,
  EXISTS (SELECT 1 FROM gp_verification k WHERE k.thread_id = a.thread_id AND NOT k.intact)
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id
"""
_AT_STEP = (
    _APPROVAL + "WHERE a.thread_id = %s::uuid AND a.branch = %s::integer "
    "AND a.step = %s::integer ORDER BY a.requested_at, a.revision"
)
_AT_NEXT_STEP = (
    _APPROVAL + "WHERE a.thread_id = %s::uuid AND a.branch = th.branch "
    "AND a.step = th.step + 1 ORDER BY a.requested_at, a.revision"
)


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
    # Whether the record of its thread is: no part of the request.
    damaged: bool = field(default=False, compare=False)

    @property
    def shown_args(self) -> Any:
        """The arguments that stand now: an edit's, else those that were asked for."""
        return self.args if self.standing_args is None else self.standing_args

    @property
    def shown_sentence(self) -> str:
        """How the tool describes what stands; empty where it does not, and after an edit."""
        return self.sentence if self.standing_args is None else ""

    @property
    def headline(self) -> str:
        """The request in one line."""
        return headline(self.title, self.shown_sentence)

    @property
    def open(self) -> bool:
        """Whether somebody can still decide it."""
        return self.status == "pending"

    @property
    def progress(self) -> Progress:
        """Who has voted and whose turn it is, as the gate wrote it with the last verdict."""
        terms, seats = readable_terms(self.terms), self.due_seats
        return Progress.read(self.tally, terms, due_seats=seats, due_except=self.due_except)

    @property
    def effect(self) -> bool:
        """Whether approving it makes something happen outside."""
        return self.gate and bool(self.tool)

    @property
    def gate(self) -> bool:
        """Whether it stands before something that the agent would do."""
        return self.kind in GATES

    @property
    def repeat(self) -> bool:
        """Whether the same was done before."""
        return self.kind == REPEAT


def _rows(sql: str, params: Sequence[Any]) -> list[ApprovalRow]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return _counted(map(_row, cursor.fetchall()))


def _counted(rows: Iterable[ApprovalRow]) -> list[ApprovalRow]:
    """The rows, those without a count of their votes with one."""
    found = list(rows)
    counted = count_votes(
        [
            Uncounted(row.id, row.terms, row.open, row.escalated_at is not None)
            for row in found
            if row.tally is None
        ]
    )
    if not counted:
        return found
    return [replace(r, **counted[r.id].columns) if r.id in counted else r for r in found]


def rows(where: str, params: Sequence[Any]) -> list[ApprovalRow]:
    """Requests by a condition on `a` (the request) and `th` (its thread); for this floor."""
    return _rows(_APPROVAL + where, params)


def _json(text: str | None) -> Any:
    return None if text is None else deltas.decode(text)


def _row(r: tuple[Any, ...]) -> ApprovalRow:
    values = list(r)
    # args, reasons, schema, decided_args, terms, standing_args, tally, repeats
    for column in (14, 18, 20, 29, 34, 35, 41, 44):
        values[column] = _json(r[column])
    return ApprovalRow(*values)


def approval(approval_id: UUID, *, workspace: UUID) -> ApprovalRow:
    """One request; raises NotFound for unknown ids and those of other workspaces alike."""
    rows = _rows(
        _APPROVAL + "WHERE a.id = %s::uuid AND a.workspace_id = %s::uuid", (approval_id, workspace)
    )
    if not rows:
        raise NotFound("There is no such request in this workspace.")
    return rows[0]


def votes(approval_id: UUID) -> list[Vote]:
    """All verdicts on a request, oldest first, each saying whether it counts now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT a.tally IS NOT NULL, d.id, d.reviewer, d.reviewer_name, d.verdict, "
            "d.proposal_hash, d.comment, d.what_next, d.at, jsonb_path_exists(a.tally, "
            "'$.stages[*].given[*].decision ? (@ == $id)', jsonb_build_object('id', d.id)), "
            "d.args::text FROM gp_decision d "
            "JOIN gp_approval a ON a.id = d.approval_id WHERE d.approval_id = %s::uuid "
            "ORDER BY d.at, d.id",
            (approval_id,),
        )
        found = cursor.fetchall()
    read = [Vote(*(*values, _json(args))) for _, *values, args in found]
    if all(is_counted for is_counted, *_ in found):
        return read
    counts = {
        d for row in rows("WHERE a.id = %s::uuid", (approval_id,)) for d in row.progress.decisions
    }
    return [replace(vote, counts=vote.decision in counts) for vote in read]


def unsettled(thread_id: UUID) -> list[ApprovalRow]:
    """What would be withdrawn with a thread: open requests, decisions that do not count yet."""
    return rows(
        "WHERE a.thread_id = %s::uuid AND a.status IN ('pending', 'held') "
        "ORDER BY a.requested_at DESC, a.id DESC LIMIT 100",
        (thread_id,),
    )


def by_id(ids: Sequence[UUID], *, workspace: UUID) -> dict[UUID, ApprovalRow]:
    """Those of these requests that are of the workspace."""
    found = _rows(
        _APPROVAL + "WHERE a.id = ANY(%s::uuid[]) AND a.workspace_id = %s::uuid",
        (list(ids), workspace),
    )
    return {row.id: row for row in found}


def approvals(
    *, workspace: UUID, status: str = "pending", limit: int = 50, after: UUID | None = None
) -> Page[ApprovalRow]:
    """Requests: open ones by age, others newest first; cursor = id of the last.

    Raises InvalidValue for a cursor that names no request of the workspace.
    """
    where = ["a.workspace_id = %s::uuid"]
    params: list[Any] = [workspace]
    if status == "pending":
        where.append("a.status = 'pending'")
        order, sign = "a.requested_at, a.id", ">"
    else:
        if status == "decided":
            where.append("a.status <> 'pending'")
        elif status:
            where.append("a.status = %s::varchar")
            params.append(status)
        order, sign = "a.requested_at DESC, a.id DESC", "<"
    if after is not None:
        where.append(
            f"(a.requested_at, a.id) {sign} "
            "(SELECT requested_at, id FROM gp_approval "
            "WHERE id = %s::uuid AND workspace_id = %s::uuid)"
        )
        params += [after, workspace]
    rows = _rows(
        f"{_APPROVAL} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT %s", (*params, limit + 1)
    )
    if not rows and after is not None and not _exists(after, workspace):
        raise InvalidValue("cursor", "is not a cursor of this list")
    return Page(tuple(rows[:limit]), str(rows[limit - 1].id) if len(rows) > limit else "")


def _exists(approval_id: UUID, workspace: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM gp_approval WHERE id = %s::uuid AND workspace_id = %s::uuid",
            (approval_id, workspace),
        )
        return cursor.fetchone() is not None


def open_count(*, workspace: UUID) -> int:
    """How many requests wait for somebody, counted up to OPEN_CAP + 1."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM gp_approval WHERE workspace_id = %s::uuid "
            "AND status = 'pending' LIMIT %s) x",
            (workspace, OPEN_CAP + 1),
        )
        return int(cursor.fetchone()[0])


def overdue(*, seconds: float) -> int:
    """How many open requests of all workspaces passed their deadline longer ago than `seconds`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM gp_approval WHERE status = 'pending' "
            "AND deadline < clock_timestamp() - make_interval(secs => %s) LIMIT 1000) late",
            (seconds,),
        )
        return int(cursor.fetchone()[0])


def in_workspace(approval_id: UUID, *, workspace: UUID) -> bool:
    """Whether a request lies in the workspace."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM gp_approval WHERE id = %s::uuid AND workspace_id = %s::uuid",
            (approval_id, workspace),
        )
        return cursor.fetchone() is not None


def for_thread(thread_id: UUID, *, open_only: bool = False) -> list[ApprovalRow]:
    """A thread's requests, newest first."""
    return _rows(
        _APPROVAL
        + "WHERE a.thread_id = %s::uuid "
        + ("AND a.status = 'pending' " if open_only else "")
        + "ORDER BY a.requested_at DESC, a.id DESC LIMIT 100",
        (thread_id,),
    )


def next_step_asked(thread_id: UUID) -> prepared.Asked:
    """What `at_step` asks of the step after the thread's head, as it is then."""
    return _AT_NEXT_STEP, (thread_id,)


def at_step(
    thread_id: UUID, *, branch: int, step: int, rows: Sequence[Any] | None = None
) -> list[ApprovalRow]:
    """Requests of one step, newest revision of a position last; for the engine.

    `rows` are the answer to `next_step_asked` where somebody has it.
    """
    if rows is None:
        rows = prepared.fetch(_AT_STEP, (thread_id, branch, step))
    return _counted(map(_row, rows))


def inbox_mark(*, workspace: UUID) -> tuple[int, tuple[Any, ...]]:
    """(microseconds of the database's clock, a value that differs when the inbox moved)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT "
            "max(requested_at) FROM gp_approval WHERE workspace_id = %s::uuid), (SELECT max(at) "
            "FROM gp_decision WHERE workspace_id = %s::uuid), n, total FROM "
            "(SELECT count(*) AS n, sum(hashtextextended(concat(id, standing_hash, decide_by), 0)) "
            "AS total FROM (SELECT id, standing_hash, decide_by "
            "FROM gp_approval WHERE workspace_id = %s::uuid AND status = 'pending' LIMIT 1000) x"
            ") waiting",
            (workspace, workspace, workspace),
        )
        row = cursor.fetchone()
    return row[0], tuple(row[1:])


def open_ids(*, workspace: UUID) -> list[UUID]:
    """The first 1,000 open requests in the order of the inbox."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM gp_approval WHERE workspace_id = %s::uuid AND status = 'pending' "
            "ORDER BY requested_at, id LIMIT 1000",
            (workspace,),
        )
        return [row[0] for row in cursor.fetchall()]


def first_open(thread_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """{thread: its oldest open request} for those of these threads that have one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (thread_id) thread_id, id FROM gp_approval "
            "WHERE thread_id = ANY(%s::uuid[]) AND status = 'pending' "
            "ORDER BY thread_id, requested_at, id",
            (list(thread_ids),),
        )
        return dict(cursor.fetchall())


def decided_before(row: ApprovalRow, *, limit: int = 5) -> list[ApprovalRow]:
    """The newest decisions on the same tool of the same agent, among the last 1,000 requests."""
    return _rows(
        _APPROVAL + "WHERE a.id IN (SELECT x.id FROM (SELECT id, tool, status, thread_id "
        "FROM gp_approval WHERE workspace_id = %s::uuid AND requested_at < %s::timestamptz "
        "ORDER BY requested_at DESC, id DESC LIMIT 1000) x WHERE x.tool = %s::varchar "
        "AND x.status = 'settled') AND th.agent = %s::varchar AND a.kind IN ('gate', 'repeat') "
        "ORDER BY a.decided_at DESC LIMIT %s",
        (row.workspace, row.requested_at, row.tool, row.agent, limit),
    )
