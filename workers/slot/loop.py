"""What a worker slot does when its doorbell rings."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from checkpoints import leases, store
from checkpoints.durabilities import EPHEMERAL
from checkpoints.errors import ConcurrentModificationError
from checkpoints.hot.streams import HotStoreAway
from checkpoints.limits import nodes_at_once
from checkpoints.payload_kinds import FILE
from checkpoints.postgres import outages
from checkpoints.records import Work
from checkpoints.signals import state_settled
from checkpoints.states import EventKind, Status

from ..broker import trace_ids
from ..broker.receivers import ring, ring_first, rings_waiting
from ..code import registry
from ..engine.engine import Engine
from ..engine.fenced import fenced_event
from ..engine.rollback import PAUSES, roll_back
from ..engine.step_outcomes import refuse_missing
from ..step import guard
from ..step.advice import engine_failure
from ..step.ephemeral_ledger import EphemeralLedger
from ..step.hot_ledger import HotLedger, ledger_for
from ..step.ledger import DatabaseLedger, Ledger
from ..step.step import Agent
from . import losses, saga_record
from .claims import code_of, ring_for_messages, take
from .heartbeat import Heartbeat
from .stop_flag import stop_requested

log = structlog.get_logger("gatepost.worker")
# So long a thread sleeps whose hot store is away.
AWAY_SECONDS = 15.0
BOOT = os.urandom(4).hex()
_listening: list[str] = []
# Whether doorbells waited on a queue when this process last left a thread, or took its first one.
_crowded: dict[str, bool] = {}
# The workspace whose turn it was last, by queue. Each process begins anywhere, so that they do not
# all serve the same one.
_turns: defaultdict[str, UUID] = defaultdict(uuid4)


def owner() -> str:
    """The name under which this process holds leases: host, process and boot of the worker."""
    return owner_of(os.getpid())


def owner_of(pid: int) -> str:
    """The name under which a process of this worker holds leases."""
    return f"worker:{socket.gethostname()}:{pid}:{BOOT}"


@lru_cache(maxsize=1)
def agents() -> dict[str, Agent]:
    """The agents of this process, loaded once; watched before they take what is watched."""
    if guarding():
        guard.install()
    return registry.load()


def queues() -> list[str]:
    """The queues that this worker serves: as `listen` names them, else all that its agents name."""
    return list(_listening) or sorted({a.graph.queue for a in agents().values()} | {"gatepost"})


def listen(names: Iterable[str]) -> None:
    """Serve these queues only; said before the pool forks."""
    _listening[:] = sorted(names)


def guarding() -> bool:
    """Answer True if node code is refused what belongs into an activity."""
    return bool(getattr(settings, "GATEPOST_GUARD", True))


def slice_seconds() -> float:
    """Seconds that one thread may keep a slot while others wait."""
    return float(getattr(settings, "GATEPOST_SLICE_SECONDS", 30))


def undo_pauses() -> tuple[float, ...]:
    """Seconds before each further try of an undo that failed; no worker is held meanwhile."""
    return tuple(getattr(settings, "GATEPOST_UNDO_PAUSES", PAUSES))


def advance_and_claim(thread_id: str, *, queue: str, request: Any = None) -> None:
    """Work on the named thread if it can be had, then see that no queued one is left behind.

    Where doorbells wait on `queue`, from which this one is, workspaces take turns: the slot may
    work on a thread of another one first, or on one that a person moved up. `request` is the id of
    the HTTP request that rang for it, for the log.
    """
    try:
        thread: UUID | None = UUID(thread_id)
    except ValueError:
        log.warning("doorbell.refused", thread=thread_id)
        return
    while thread is not None:
        work = _in_turn_before(thread, queue)
        if work is not None:
            request = None
        else:
            work = take(thread, owner=owner(), agents=agents())
        if work is not None:
            work_on(work, request=request)
            ring_for_messages(work, agents())
        if stop_requested():
            return
        thread, request = left_behind(), None


def _in_turn_before(named: UUID, queue: str) -> Work | None:
    """The lease of a thread that is in turn before `named`; None for `named`.

    Without it a workspace would wait for all doorbells that others rang before, and what a person
    moved up for those of its own. `named` is rung for again, before all others: any slot may take
    it meanwhile.
    """
    if queue not in _crowded:
        _crowded[queue] = rings_waiting(queue) > 0
    if not _crowded[queue]:
        return None
    turn = leases.next_queued(queue, code_of(agents()), after=_turns[queue], named=named)
    if turn is None:
        return None
    work = None
    if turn.thread != named:
        work = take(turn.thread, owner=owner(), agents=agents())
        if work is None:
            return None  # Another slot was quicker: this one has not served that workspace.
        ring_first(named, queue=queue)
    _turns[queue] = turn.workspace
    return work


def left_behind() -> UUID | None:
    """Ring for the next queued thread of each queue without doorbells; rarely, claim one.

    A thread is not worked on under the doorbell of another: what Celery lists as active is what
    is being worked on, and nothing that waits. Only while the broker is away is the thread given
    back, to be claimed here and now.
    """
    for queue in queues():
        _crowded[queue] = rings_waiting(queue) > 0
        if _crowded[queue]:
            continue
        turn = leases.next_queued(queue, code_of(agents()), after=_turns[queue])
        if turn is None:
            continue
        _turns[queue] = turn.workspace
        if not ring(thread_id=turn.thread, queue=queue):
            return turn.thread
    return None


def work_on(work: Work, *, request: Any = None) -> None:
    """Advance one leased thread, or undo what its rollback planned."""
    # Sagas are no agent that anybody installs; every worker is ready for them.
    agent = saga_record.installed() if work.agent == saga_record.NAME else agents().get(work.agent)
    in_files = agent is not None and agent.graph.payloads == FILE
    if in_files:
        _owe_folder(work)
    try:
        _work_on(work, agent, request)
    finally:
        if in_files:
            state_settled.send_robust(
                sender=None,
                thread_id=work.thread,
                workspace=work.workspace,
                owed=str(work.token),
            )


def _owe_folder(work: Work) -> None:
    """Before the work: a worker killed between the last commit and the folder leaves the note."""
    try:
        store.owe_folder(work.thread, by=str(work.token))
    except (DatabaseError, InterfaceError) as error:
        # The work itself will meet the same; its lease runs out and the next one notes it.
        log.warning("folder.not_noted", error=str(error).strip())


def _ledger_of(agent: Agent | None) -> Ledger:
    """The ledger for the durability that an agent has chosen."""
    if agent is not None and agent.graph.durability == EPHEMERAL:
        return EphemeralLedger(agent.graph)
    return DatabaseLedger()


def _work_on(work: Work, agent: Agent | None, request: Any) -> None:
    ledger = _ledger_of(agent)
    began = time.monotonic()
    with (
        Heartbeat(work.thread, work.token) as heartbeat,
        structlog.contextvars.bound_contextvars(
            thread=str(work.thread), agent=work.agent, fence=work.fence, **trace_ids.bound(request)
        ),
    ):
        try:
            if not isinstance(ledger, EphemeralLedger):
                ledger, work = ledger_for(agent, work)
            if isinstance(ledger, HotLedger):
                heartbeat.report = ledger.report
            if agent is None:
                refuse_missing(ledger, work)
                return

            def stopping() -> bool:
                heartbeat.note_breaker(work)
                return work.is_stopped or stop_requested()

            parts: dict[str, Any] = {
                "agent": agent,
                "ledger": ledger,
                "heartbeat": heartbeat,
                "stopping": stopping,
            }
            if isinstance(ledger, EphemeralLedger) and work.crash_count:
                ledger.end_lost(work)
            elif work.status is Status.ROLLING_BACK:
                roll_back(work, **parts, pauses=undo_pauses())
            else:
                Engine(
                    **parts,
                    slice_seconds=slice_seconds(),
                    guard=guarding(),
                    nodes_at_once=nodes_at_once(),
                ).advance(work)
            took = round((time.monotonic() - began) * 1000, 1)
            log.info("worked", status=str(work.status), step=work.step, ms=took)
        except ConcurrentModificationError:
            fenced(work)
        except HotStoreAway as error:
            log.warning("hot.away", error=str(error))
            _rest(work)
        except MemoryError as error:
            traceback.clear_frames(error.__traceback__)  # what filled the memory goes
            losses.out_of_memory(work)
        except (DatabaseError, InterfaceError) as error:
            if outages.refuses_value(error) or not outages.is_outage(error):
                log.exception("engine.failed")
                give_up(ledger, work, error)
            else:
                # Nothing can be written now; the lease runs out and another slot takes over.
                log.exception("step.interrupted")
                losses.not_stored(work, error)
        except Exception as error:
            log.exception("engine.failed")
            give_up(ledger, work, error)
        finally:
            if isinstance(ledger, HotLedger):
                ledger.close()


def _rest(work: Work) -> None:
    """Leave a hot thread for a while: what it has buffered can neither be read nor followed."""
    why = "The hot store does not answer."
    try:
        store.leave(
            work, EventKind.THREAD_SLEPT, reason=why, wake_at_seconds=AWAY_SECONDS,
            data={"seconds": AWAY_SECONDS},
        )  # fmt: skip
    except ConcurrentModificationError:
        fenced(work)


def give_up(ledger: Ledger, work: Work, error: Exception) -> None:
    """Leave a thread on which the engine itself failed, so that it does not hang in its lease."""
    by = EventKind.THREAD_PARKED if work.status is Status.ROLLING_BACK else EventKind.THREAD_FAILED
    try:
        ledger.leave(work, by, reason=engine_failure(error))
    except ConcurrentModificationError:
        fenced(work)


def fenced(work: Work) -> None:
    """Log that a worker's write was refused because the thread is no longer its own."""
    log.warning("step.fenced", owner=work.owner, fence=work.fence)
    store.add_event(work.thread, fenced_event(work, DatabaseLedger()))
