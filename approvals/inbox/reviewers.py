"""How reviewers do: what waits for whom, how long they take, and whether they look first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection

DAYS: Final = 7
WAITING_CAP, DECIDED_CAP = 10_000, 20_000
QUICK_SECONDS: Final = 5.0  # less than it takes to read a proposal
STREAK: Final = 5  # approvals in a row without opening the request
QUICK_MANY: Final = 3

# A request that is decided on its own page; as InboxRow.opens says.
_OPENS = "(a.risk = 'high' OR jsonb_array_length(coalesce(a.terms -> 'stages', '[]')) > 1)"
# Of what was taken back nothing is left that would be a decision.
_TAKEN_BACK = """
SELECT count(*) FILTER (WHERE n.verdict = 'take_back') > 0 FROM (SELECT t.verdict
  FROM gp_decision t WHERE t.approval_id = d.approval_id AND t.verdict <> 'respond'
    AND split_part(t.reviewer, '/', 1) = split_part(d.reviewer, '/', 1)
    AND (t.at, t.id) > (d.at, d.id) ORDER BY t.at, t.id LIMIT 1) n
"""
_DECISIONS = f"""
SELECT split_part(d.reviewer, '/', 1) AS person, d.reviewer_name AS name, d.at, d.id,
  extract(epoch FROM d.at - a.requested_at)::float8 AS took,
  d.verdict IN ('approve', 'edit') AND {_OPENS} AS counts,
  extract(epoch FROM d.at - k.at)::float8 AS looked
FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id
LEFT JOIN gp_approval_look k ON k.approval_id = d.approval_id
  AND k.person = split_part(d.reviewer, '/', 1) AND k.at <= d.at
WHERE d.workspace_id = %s::uuid AND d.at > statement_timestamp() - make_interval(days => {DAYS})
  AND d.verdict NOT IN ('take_back', 'respond') AND NOT a.imported AND a.kind IN ('gate', 'repeat')
  AND NOT ({_TAKEN_BACK})
"""
_HABITS = f"""
WITH d AS ({_DECISIONS} {{only}} ORDER BY d.at DESC LIMIT {DECIDED_CAP}),
c AS (SELECT *, count(*) FILTER (WHERE looked IS NOT NULL)
  OVER (PARTITION BY person ORDER BY at DESC, id DESC) AS later FROM d WHERE counts)
SELECT p.person, p.name, p.n, p.median, p.newest, coalesce(c.n, 0), coalesce(c.unopened, 0),
  coalesce(c.quick, 0), coalesce(c.streak, 0)
FROM (SELECT person, (array_agg(name ORDER BY at DESC))[1] AS name, count(*) AS n,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS median, max(at) AS newest
  FROM d GROUP BY person) p
LEFT JOIN (SELECT person, count(*) AS n, count(*) FILTER (WHERE looked IS NULL) AS unopened,
    count(*) FILTER (WHERE looked < {QUICK_SECONDS}) AS quick,
    count(*) FILTER (WHERE later = 0) AS streak FROM c GROUP BY person) c ON c.person = p.person
ORDER BY p.n DESC, p.person
"""
_LOAD = """
SELECT seat, count(*), min(requested_at), count(*) FILTER (WHERE due)
FROM (SELECT unnest(a.due_seats) AS seat, a.requested_at,
    coalesce(a.decide_by, a.deadline) < statement_timestamp() + interval '1 hour' AS due
  FROM (SELECT * FROM gp_approval WHERE workspace_id = %s::uuid AND status = 'pending'
    ORDER BY requested_at, id LIMIT %s) a) x
GROUP BY seat ORDER BY 2 DESC, seat LIMIT 200
"""


@dataclass(frozen=True, slots=True)
class Habit:
    """A reviewer's last days; `counted` are approvals of requests that need opening.

    Of these `unopened` were never opened, `quick` were decided within QUICK_SECONDS of opening,
    `streak` is how many of the newest ones in a row were not opened. `median` in seconds.
    """

    person: str
    name: str
    decided: int
    median: float
    newest: datetime
    counted: int
    unopened: int
    quick: int
    streak: int

    @property
    def worth_a_word(self) -> bool:
        """Whether somebody should look at how this person approves."""
        return self.streak >= STREAK or self.quick >= max(QUICK_MANY, self.counted // 2)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for one seat: `user:ada`, `team:finance`, or `*` for any reviewer."""

    seat: str
    waiting: int
    oldest: datetime
    due: int


def habits(workspace: UUID) -> list[Habit]:
    """All reviewers who decided in the last days, the busiest first."""
    return _habits("", (workspace,))


def habit(workspace: UUID, person: str) -> Habit | None:
    """One reviewer's; None for whoever decided nothing in the last days."""
    found = _habits("AND split_part(d.reviewer, '/', 1) = %s::text", (workspace, person))
    return found[0] if found else None


def _habits(only: str, params: tuple[UUID | str, ...]) -> list[Habit]:
    with connection.cursor() as cursor:
        cursor.execute(_HABITS.format(only=only), params)
        return [Habit(*row) for row in cursor.fetchall()]


def load(workspace: UUID) -> list[Waiting]:
    """Among the oldest WAITING_CAP open requests: how many wait for each person and team."""
    with connection.cursor() as cursor:
        cursor.execute(_LOAD, (workspace, WAITING_CAP))
        return [Waiting(*row) for row in cursor.fetchall()]
