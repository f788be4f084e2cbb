"""The right to work on a thread: acquire, take over, renew. Giving back is a store verb.

Only the database's clock counts. A lease is a random token in the thread's row; every write of a
worker is guarded by it, so a former holder cannot commit whatever it believes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from .breakers.rule import STOPPED_BY
from .limits import CRASHES_ALLOWED, lease_seconds
from .log.seals import LEASE_V
from .postgres import reads as prepared
from .postgres.named_rows import fetch_named
from .postgres.server_start import UP_FOR
from .postgres.sql_files import sql_file
from .queries import savings
from .queries.installation.live_code import SERVED, WORKER_ALIVE_SECONDS
from .records import STOP, Work, environment
from .state import deltas
from .states import EventKind, Status
from .store.statement.moves import Move, NewEvent, perform, returned
from .store.statement.text import ALWAYS

# What `Work` calls as the thread's row does.
_ALIKE = (
    *("fence", "agent", "title", "head", "number", "step", "branch"),
    *("branch_start", "version"),
    *("wake_seq", "wish", "wish_by", "pause_at", "effects", "chain_id", "crash_count"),
    *("started_by", "base", "parent", "root", "depth"),
)
_COLUMNS = (*_ALIKE, "automatic_title", "agent_version_id", "next_nodes::text", "rollback::text")
_HELD = ("lease_owner", "lease_token", *_COLUMNS)
_HOLDING = (
    f"SELECT {', '.join(ALWAYS + _HELD)} FROM gp_thread WHERE id = %s::uuid "
    "AND workspace_id = %s::uuid AND "
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A thread to take next, and the workspace whose turn that is."""

    thread: UUID
    workspace: UUID


@dataclass(frozen=True, slots=True)
class Code:
    """Which code a worker has: ids of agent versions, names of agents.

    With `any_other` it may also take threads of other code, except those that are pinned: it has
    looked whether somebody else has theirs.
    """

    versions: Collection[UUID]
    agents: Collection[str] = ()
    any_other: bool = False

    def guard(self) -> str:
        """SQL that is true if the thread `th` may be taken; one parameter, `param`."""
        mine = "th.agent_version_id = ANY(%s::uuid[])"
        return f"(NOT th.pinned OR {mine})" if self.any_other else mine

    def param(self) -> str:
        """The versions as PostgreSQL writes an array: the text is the same for each call."""
        return "{" + ",".join(map(str, self.versions)) + "}"


# A sub-select sees the breakers as of the statement's begin: the sweep marks who slipped through.
_FREE = f"NOT EXISTS ({STOPPED_BY})"
# Threads of one workspace among which one that may be taken is looked for.
LOOKED_AT = 100
BEFORE_ALL = UUID(int=0)
SQL = sql_file(__file__, served=SERVED, stopped_by=STOPPED_BY, looked_at=str(LOOKED_AT))


def _for(
    code: Code | None, guard: str, params: tuple[object, ...] = ()
) -> tuple[str, tuple[object, ...]]:
    """A guard that also asks for the code, where it matters."""
    if code is None:
        return guard, params
    return f"({guard}) AND {code.guard()}", (*params, code.param())


def _take(
    move: Move,
    thread: UUID,
    owner: str,
    kind: EventKind,
    payload: Mapping[str, Any] = {},
    *,
    seconds: float | None,
) -> Work | None:
    # Random, and not the fence: a lease may be lost in a crash of the server (it is not flushed),
    # and the next holder would get the same number.
    token = uuid4()
    term = lease_seconds() if seconds is None else seconds
    move.set("lease_owner", owner)
    move.set("lease_token", token)
    # Not now(): that is the time of BEGIN, and the wait for the row's lock would shorten the lease.
    move.express("lease_until", "clock_timestamp() + make_interval(secs => %s)", term)
    # For people who read the log; no write is guarded by it.
    move.express("fence", "th.fence + 1")
    # A breaker meant the former lease; one that is open still lets nobody get here.
    move.express("wish", f"CASE WHEN th.wish = '{STOP}' THEN '' ELSE th.wish END")
    data = {"owner": owner, **environment(), **payload}
    move.events = [NewEvent(kind, data, owner, LEASE_V)]
    move.returning = _COLUMNS
    row = perform(move)
    return None if row is None else _work(thread, row, owner, token, move.brought)


def _work(
    thread: UUID, row: Any, owner: str, token: UUID, brought: list[list[tuple[Any, ...]]]
) -> Work:
    return Work(
        thread=thread,
        workspace=row.workspace_id,
        last_seq=row.last_seq,
        status=Status(row.status),
        owner=owner,
        token=token,
        agent_version=row.agent_version_id,
        automatic_title=row.automatic_title == row.title,
        next_nodes=tuple(deltas.decode(row.next_nodes)),
        rollback=None if row.rollback is None else deltas.decode(row.rollback),
        brought=brought,
        **{name: getattr(row, name) for name in _ALIKE},
    )


def held(
    thread: UUID,
    *,
    token: UUID,
    workspace: UUID,
    along: Sequence[prepared.Query] = (),
    lock: bool = False,
) -> Work | None:
    """The work of the holder of this lease, as the thread's row is now; None where nobody has.

    For holders that keep nothing between two calls. An expired lease that nobody took still counts.
    `along` is asked in the same round trip; the answers are `brought`. `lock` keeps the row until
    the transaction ends, and `along` sees what is committed by then.
    """
    where = "lease_token = %s::uuid" + (" FOR NO KEY UPDATE" if lock else "")
    return _held(thread, workspace, where, token, along=along)


def held_by_any(thread: UUID, *, workspace: UUID) -> Work | None:
    """The work under the thread's lease, of any holder; None where nobody has it.

    For what only reports and decides nothing: spans that come in carry no token.
    """
    return _held(thread, workspace, "lease_token IS NOT NULL")


def _held(
    thread: UUID, workspace: UUID, where: str, *params: UUID, along: Sequence[prepared.Query] = ()
) -> Work | None:
    query = _HOLDING + where, (thread, workspace, *params)
    result, *brought = prepared.fetch_all(query, *along)
    if not result:
        return None
    row = returned(_HELD)(result[0])
    return _work(thread, row, row.lease_owner, row.lease_token, brought)


def acquire(
    thread: UUID,
    *,
    owner: str,
    code: Code | None = None,
    along: Sequence[prepared.Query] = (),
    seconds: float | None = None,
    flushed: bool = False,
    past_breakers: bool = False,
) -> Work | None:
    """queued -> running, or take a rollback that nobody works on; None when there is nothing.

    With `code` also None where the thread needs other code; None while a breaker stops the thread,
    except with `past_breakers`, for what only records. `along` is asked in the same round
    trip; the answers are `brought`.

    Written without waiting for the flush: losing it in a crash of the server loses no work, and
    the first step's flush makes it durable. `flushed` for who writes more in the same transaction:
    its commit waits for the flush.
    """
    idle = (
        "th.status = 'queued' OR (th.status = 'rolling_back' AND th.lease_token IS NULL "
        "AND (th.wake_at IS NULL OR th.wake_at <= clock_timestamp()))"
    )
    if not past_breakers:
        idle = f"({idle}) AND {_FREE}"
    move = Move(thread, *_for(code, idle), unflushed=not flushed, along=along)
    move.express(
        "status", "CASE WHEN th.status = 'queued' THEN 'running' ELSE th.status END::varchar"
    )
    move.express("status_reason", "''")
    move.express(
        "status_since",
        "CASE WHEN th.status = 'queued' THEN clock_timestamp() ELSE th.status_since END",
    )
    # A new version with each status, as everywhere; a rollback that is taken keeps its own.
    move.express("version", "th.version + (th.status = 'queued')::integer")
    move.express("waiting_on", "NULL")
    move.express("wake_at", "NULL")
    return _take(move, thread, owner, EventKind.LEASE_ACQUIRED, seconds=seconds)


def continue_thread(thread: UUID, *, owner: str, agents: Collection[str]) -> Work | None:
    """succeeded or failed -> running for messages that wait in memory; None when there is nothing.

    Only of an ephemeral thread of one of `agents`, whatever code it had: it has no checkpoint, its
    head is its own id. Written without waiting for the flush, as by `acquire`.
    """
    rests = (
        "th.status IN ('succeeded', 'failed') AND th.head = th.id AND NOT th.pinned "
        f"AND th.agent = ANY(%s::text[]) AND {_FREE}"
    )
    move = Move(thread, rests, (list(agents),), unflushed=True)
    move.to_status(Status.RUNNING)
    return _take(move, thread, owner, EventKind.THREAD_CONTINUED, seconds=None)


def take_over(
    thread: UUID, *, owner: str, code: Code | None = None, seconds: float | None = None
) -> Work | None:
    """Take a lease that its holder let expire; counts a crash. Other limits as for `acquire`.

    Nobody takes over until PostgreSQL has been up for one lease: after a restart every holder
    first gets the chance to renew. From the third crash on the sweep parks the thread instead.
    What a restart would do again is noted (ADR 0021): read before, since the past only grows.
    """
    recorded = savings.work_before_takeover(thread)
    if recorded is None:
        return None
    expired = (
        "th.status IN ('running', 'rolling_back') AND th.lease_token IS NOT NULL "
        "AND th.lease_until < clock_timestamp() "
        f"AND {UP_FOR} "
        f"AND th.crash_count < %s AND {_FREE}"
    )
    move = Move(thread, *_for(code, expired, (lease_seconds(), CRASHES_ALLOWED - 1)))
    move.express("crash_count", "th.crash_count + 1")
    move.express("tokens_saved", "th.tokens_saved + %s::bigint", recorded.tokens)
    payload = savings.as_json(recorded)
    return _take(move, thread, owner, EventKind.LEASE_TAKEN_OVER, payload, seconds=seconds)


def renew(thread: UUID, *, token: UUID, seconds: float | None = None) -> bool:
    """Prolong the lease by a full term; False when it is no longer ours."""
    return beat(thread, token=token, seconds=seconds) is not None


def beat(thread: UUID, *, token: UUID, seconds: float | None = None) -> tuple[str, str] | None:
    """Prolong the lease by a full term: (the wish, who wants it); None when it is lost."""
    with connection.cursor() as cursor:
        cursor.execute(
            # Without a flush: a crash of the server may lose it, and `UP_FOR` gives the holder time
            # to renew again. `s.v` is compared so that the planner cannot leave the CTE out.
            "WITH s AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS v) "
            "UPDATE gp_thread th SET lease_until = clock_timestamp() + make_interval(secs => %s) "
            "FROM s WHERE th.id = %s::uuid AND th.lease_token = %s::uuid AND s.v = 'off' "
            "RETURNING th.wish, th.wish_by",
            (lease_seconds() if seconds is None else seconds, thread, token),
        )
        wish: tuple[str, str] | None = cursor.fetchone()
        return wish


def next_queued(
    queue: str, code: Code | None = None, *, after: UUID = BEFORE_ALL, named: UUID | None = None
) -> Turn | None:
    """The thread of a queue whose turn it is and that nobody is taking; None when none waits.

    Workspaces take turns, in the order of their ids and from the one behind `after` on; each sends
    the thread that a person moved up last, else the one that has been queued longest. In the turn
    of the workspace of `named`, the thread that rang, that is `named` itself unless another one was
    moved up.

    With `code`, of those only that such a worker may take: its own, and threads of other code
    that are not pinned and that no live worker of their queue knows better.
    """
    known = (None, None) if code is None else (code.param(), list(code.agents))
    values = (WORKER_ALIVE_SECONDS, queue, after, named, named, code is None, *known)
    [*result] = fetch_named(SQL.next_queued, values)
    return Turn(result[0].thread, result[0].workspace) if result else None
