"""What lies undone in the whole installation: queues, leases, timers, duties, wakes.

For operators; every workspace counts. Durations are seconds by the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.agent_versions import EXTERNAL_QUEUE, GATEWAY_AGENT
from checkpoints.limits import folder_seconds
from checkpoints.states import LIVE, Status

from ..rows import rows
from .live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS

UNWORKED_CAP: Final = 1_000


@dataclass(frozen=True, slots=True)
class QueueRow:
    """Threads that wait for a worker in one queue, and for how long the first of them has."""

    queue: str
    threads: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class ExternalWork:
    """Agents that work elsewhere, and their threads: waiting for a program, leased, silent.

    `waiting_seconds` is how long the first one has waited, `silent` have a lease that ran out.
    """

    agents: int
    waiting: int
    waiting_seconds: float
    working: int
    silent: int


@dataclass(frozen=True, slots=True)
class DutyRow:
    """A fleet-wide duty: who does it, and for how long nobody has by now (negative: it is done)."""

    owner: str
    until: datetime
    overdue_seconds: float


@dataclass(frozen=True, slots=True)
class LateRow:
    """Things past their time: how many (up to 1,000) and the longest delay."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """The status of a thread by the clock of the database: `seconds` it has had it."""

    queue: str
    seconds: float
    wake_seq: int
    lease_expired: bool


@dataclass(frozen=True, slots=True)
class Unworked:
    """Queued threads of a workspace while no worker gives a sign of life; counted up to a cap.

    `children` are those that other threads started.
    """

    threads: int
    children: int
    since: datetime


def unworked(*, workspace: UUID) -> Unworked | None:
    """The queued threads that nobody works for; None while a worker lives or nothing waits.

    Threads of agents that work elsewhere wait for no worker of ours.
    """
    ((n, children, since),) = rows(
        "SELECT count(*) FILTER (WHERE x.parent IS NULL), count(x.parent), min(x.status_since) "
        "FROM (SELECT th.parent, th.status_since FROM gp_thread th "
        "JOIN gp_agent_version v ON v.id = th.agent_version_id "
        "AND v.graph -> 'external' IS NULL WHERE th.workspace_id = %s::uuid "
        "AND th.status = 'queued' AND NOT EXISTS (SELECT 1 FROM gp_worker w "
        "WHERE w.stopped_at IS NULL AND w.seen_at > clock_timestamp() - make_interval(secs => %s) "
        f"AND w.{NOT_AHEAD}) ORDER BY th.status_since, th.id LIMIT %s) x",
        (workspace, WORKER_ALIVE_SECONDS, UNWORKED_CAP + 1),
    )
    return Unworked(n, children, since) if since else None


def queues() -> list[QueueRow]:
    """Queues with queued threads, the longest wait first."""
    result = rows(
        "SELECT queue, count(*), extract(epoch FROM clock_timestamp() - min(status_since)) "
        "FROM gp_thread WHERE status = 'queued' GROUP BY queue ORDER BY 3 DESC"
    )
    return [QueueRow(queue, count, float(seconds)) for queue, count, seconds in result]


def external_work() -> ExternalWork:
    """The work of agents that work elsewhere; the MCP gateway's own threads are left out."""
    [(agents, waiting, seconds, working, silent)] = rows(
        "SELECT (SELECT count(DISTINCT v.agent) FROM gp_agent_version v "
        "WHERE v.queue = %s::varchar AND NOT starts_with(v.agent, %s::text)), "
        "count(*) FILTER (WHERE th.status = 'queued'), "
        "coalesce(extract(epoch FROM clock_timestamp() "
        "- min(th.status_since) FILTER (WHERE th.status = 'queued')), 0), "
        "count(*) FILTER (WHERE th.lease_until > clock_timestamp()), "
        "count(*) FILTER (WHERE th.lease_until <= clock_timestamp()) "
        "FROM gp_thread th WHERE th.queue = %s::varchar AND th.status IN ('queued', 'running') "
        "AND NOT starts_with(th.agent, %s::text)",
        (EXTERNAL_QUEUE, GATEWAY_AGENT, EXTERNAL_QUEUE, GATEWAY_AGENT),
    )
    return ExternalWork(agents, waiting, float(seconds), working, silent)


def duty(name: str) -> DutyRow | None:
    """One duty; None before anybody had it."""
    result = rows(
        "SELECT owner, until, extract(epoch FROM clock_timestamp() - until) FROM gp_duty "
        "WHERE name = %s::varchar AND until IS NOT NULL",
        (name,),
    )
    if not result:
        return None
    [(owner, until, seconds)] = result
    return DutyRow(owner, until, float(seconds))


def duties_held(prefix: str) -> list[str]:
    """The duties that somebody has now and whose names begin so."""
    result = rows(
        "SELECT name FROM gp_duty WHERE starts_with(name, %s::text) "
        "AND until > clock_timestamp() ORDER BY name",
        (prefix,),
    )
    return [name for (name,) in result]


def expired_leases(*, seconds: float) -> LateRow:
    """Leases that ran out longer ago than `seconds` and that nobody took, of our own workers."""
    return _late(
        "SELECT lease_until AS due FROM gp_thread WHERE status IN ('running', 'rolling_back') "
        f"AND (queue <> '{EXTERNAL_QUEUE}' OR status = 'rolling_back') "
        "AND lease_token IS NOT NULL "
        "AND lease_until < clock_timestamp() - make_interval(secs => %s)",
        seconds,
    )


def late_sleepers(*, seconds: float) -> LateRow:
    """Sleeping threads whose time came longer ago than `seconds`."""
    return _late(
        "SELECT wake_at AS due FROM gp_thread WHERE status = 'sleeping' "
        "AND wake_at < clock_timestamp() - make_interval(secs => %s)",
        seconds,
    )


def late_wakes(*, seconds: float) -> LateRow:
    """News for waiting threads, older than `seconds`, that nobody has delivered.

    A message is no such news: it is taken with the next step, whenever that comes. Nor is a pause
    that is kept for a child until a limit lets it begin.
    """
    return _late(
        "SELECT w.due_at AS due FROM gp_wake w JOIN gp_thread th ON th.id = w.thread_id "
        "WHERE w.kind NOT IN ('input', 'signal') AND th.status IN ('waiting', 'sleeping') "
        "AND NOT (w.kind = 'reach' AND coalesce(th.waiting_on ->> 'kind', '') = 'limit') "
        "AND w.due_at < clock_timestamp() - make_interval(secs => %s)",
        seconds,
    )


# Folders that nobody is about to write; (seconds a thread has to be at rest).
FOLDERS_DUE = (
    "FROM gp_duty d JOIN gp_thread th ON th.id = CASE WHEN starts_with(d.name, 'folder:') "
    "THEN substr(d.name, 8)::uuid END WHERE (d.until < clock_timestamp() "
    # From before the clock stepped back: nothing is postponed for so long.
    "OR d.until > clock_timestamp() + interval '1 hour') AND th.lease_token IS NULL "
    "AND (th.status_since < clock_timestamp() - make_interval(secs => %s) "
    "OR th.status_since > clock_timestamp())"
)


def folders_due() -> bool:
    """Answer True if a folder is still to be written; reads one small table."""
    return bool(rows(f"SELECT 1 {FOLDERS_DUE} LIMIT 1", (folder_seconds(),)))


def late_folders(*, seconds: float) -> LateRow:
    """Folders of threads at rest that were to be written, by the time since the thread moved."""
    return _late(
        "SELECT greatest(th.status_since, th.last_at) AS due FROM gp_duty d JOIN gp_thread th "
        "ON th.id = CASE WHEN starts_with(d.name, 'folder:') THEN substr(d.name, 8)::uuid END "
        "WHERE th.lease_token IS NULL AND greatest(th.status_since, th.last_at) "
        "< clock_timestamp() - make_interval(secs => %s)",
        seconds,
    )


def _late(sql: str, seconds: float) -> LateRow:
    result = rows(
        "SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(due)), 0) "
        f"FROM ({sql} LIMIT 1000) late",
        (seconds,),
    )[0]
    return LateRow(result[0], float(result[1]))


@dataclass(frozen=True, slots=True)
class SetAsideRow:
    """A due row that a part of the sweep could not handle; `again_in` seconds it is tried again."""

    part: str
    row: UUID
    thread: UUID | None
    error: str
    attempts: int
    seconds: float
    again_in: float


def rows_set_aside(*, limit: int = 100) -> list[SetAsideRow]:
    """Rows that failed in the sweep and wait for another try, the longest known first."""
    result = rows(
        "SELECT part, row_id, thread_id, error, attempts, "
        "extract(epoch FROM clock_timestamp() - first_at)::float8, "
        "extract(epoch FROM next_at - clock_timestamp())::float8 FROM gp_set_aside "
        "ORDER BY first_at LIMIT %s",
        (limit,),
    )
    return [SetAsideRow(*row) for row in result]


@dataclass(frozen=True, slots=True)
class ClockStepRow:
    """A step of the database's clock: how many seconds it went back, how many seconds ago."""

    by: float
    ago: float


def clock_steps(*, seconds: float) -> list[ClockStepRow]:
    """Backward steps of the database's clock that were noticed lately, the newest first."""
    result = rows(
        # One in the future was followed by another step back.
        "SELECT -seconds, greatest(extract(epoch FROM clock_timestamp() - at)::float8, 0) "
        "FROM gp_clock_step WHERE at > clock_timestamp() - make_interval(secs => %s) "
        "ORDER BY at DESC LIMIT 20",
        (seconds,),
    )
    return [ClockStepRow(*row) for row in result]


def version_threads(*, workspace: UUID | None = None) -> dict[UUID, dict[Status, int]]:
    """{agent version: {status: threads that can still continue}}, of one workspace or all."""
    result = rows(
        "SELECT agent_version_id, status, count(*) FROM gp_thread "
        "WHERE status = ANY(%s::text[]) AND (%s::uuid IS NULL OR workspace_id = %s::uuid) "
        "GROUP BY agent_version_id, status",
        ([str(s) for s in LIVE], workspace, workspace),
    )
    counted: dict[UUID, dict[Status, int]] = {}
    for version, status, n in result:
        counted.setdefault(version, {})[Status(status)] = n
    return counted


def status_facts(thread_id: UUID) -> StatusFacts:
    """The queue of a thread, and for how long it has stood as it stands."""
    [(queue, seconds, wake_seq, lease_expired)] = rows(
        "SELECT th.queue, extract(epoch FROM clock_timestamp() - th.status_since), "
        "th.wake_seq, th.lease_token IS NOT NULL AND th.lease_until < clock_timestamp() "
        "FROM gp_thread th WHERE th.id = %s::uuid",
        (thread_id,),
    )
    return StatusFacts(queue, float(seconds), wake_seq, lease_expired)
