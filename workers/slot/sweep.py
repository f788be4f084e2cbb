"""What makes every lost message harmless: each worker sweeps, one at a time does.

Runs in a thread of the worker's main process with a connection of its own. While nothing is due and
no thread is queued or running, four of five turns ask only whether that is so.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from celery.signals import (
    celeryd_after_setup,
    celeryd_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from celery.utils.text import str_to_list
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from approvals import gates
from approvals.incidents.sweep import IncidentTurns, sweep_incidents
from approvals.notify.hot_store import announce_filling, announce_lag
from approvals.notify.stuck_threads import announce_stuck_threads, announce_waiting_work
from approvals.notify.wanted_workers import announce_wanted_workers
from approvals.policies.budgets import announce_budgets
from checkpoints import queries, store
from checkpoints.durabilities import HOT
from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway, GatepostError
from checkpoints.hot import streams
from checkpoints.hot.streams import HotStoreAway
from checkpoints.limits import SILENT_LEASES, lease_seconds
from checkpoints.postgres import statements  # noqa: F401  (imported late by the store: here, once)
from checkpoints.signals import anchors_due, folders_due, retention_due, verification_due

from .. import shared_page as slots
from ..broker import refusals
from ..broker.receivers import ring, rings_waiting
from ..language.configuration import models_of
from . import canary, forks, loop, losses, reached
from .clock import ClockWatch
from .idle import Idle
from .stop_flag import request_stop, stop_requested

log = structlog.get_logger("gatepost.sweep")
DUTY, DRAIN = "sweep", "drain"
# Between two drains while there is something to drain.
DRAIN_SECONDS = 0.1
RINGS_PER_SWEEP = 20
RINGS_KEPT = 1_000
_stuck_turns = store.StuckTurns()
_incident_turns = IncidentTurns()
# Turns without anything due after which only each fifth asks all parts.
TURNS_TO_REST, PARTS_EVERY = 10, 5
_figures_turn, _decisions_turn = store.Turn(seconds=10), store.Turn(seconds=10)
_budgets_turn, _hot_store_turn = store.Turn(seconds=30), store.Turn(seconds=30)
_lag_turn, _wanted_turn = store.Turn(seconds=10), store.Turn(seconds=1)


def interval_seconds() -> float:
    """Seconds between two sweeps of a worker."""
    return float(getattr(settings, "GATEPOST_SWEEP_SECONDS", 2))


def sweep_once(*, owner: str) -> dict[str, int]:
    """Everything that is due, once; what was done.

    What fails in one part keeps none of the others from being done: lost threads come first.
    """
    parts: dict[str, Callable[[], int]] = {
        "shortened": lambda: store.shorten_leases() + store.bring_back_sleepers(),
        "parked": lambda: store.park_crash_loops(owner=owner),
        "woken": lambda: store.wake_sleepers(owner=owner),
        "rung": _ring_stranded,
        "messages": _ring_for_messages,
        "utterances": _record_utterances,
        "stopped": store.mark_stopped,
        "children": lambda: store.deliver_due(actor=owner),
        "reached": reached.carry_out,
        "counted": gates.tally_due,
        "settled": gates.settle_due,
        "expired": gates.expire_due,
        "reminded": gates.remind_due,
        "stuck": _look_for_stuck,
        "waiting": announce_waiting_work,
        "wanted": lambda: announce_wanted_workers() if _wanted_turn.is_due() else 0,
        "incidents": _look_for_incidents,
        "figures": lambda: store.fold_due() if _figures_turn.is_due() else 0,
        "decisions": lambda: gates.fold_decisions() if _decisions_turn.is_due() else 0,
        "budgets": lambda: announce_budgets(owner=owner) if _budgets_turn.is_due() else 0,
        "hot store": lambda: announce_filling() if _hot_store_turn.is_due() else 0,
        "hot steps": lambda: announce_lag() if _lag_turn.is_due() else 0,
        "indexed": store.index_history,
        "folders": _announce_folders,
        "erased": store.carry_on_erasures,
        "memories": lambda: store.forget_expired_memories(actor=owner),
        "retired": _call_retention,
        "forgotten": store.forget_rows_set_aside,
        "verified": lambda: _call_verifier(owner),
        "anchored": lambda: _call_anchors(owner),
    }
    done: dict[str, int] = {}
    for name, part in parts.items():
        try:
            done[name] = part()
        except (DatabaseError, InterfaceError) as error:
            log.warning("sweep.failed", part=name, error=str(error).strip())
            connection.close()
        except Exception:
            log.exception("sweep.failed", part=name)
    return done


def drain_once(*, owner: str) -> int:
    """Drain what hot agents buffered; only workers that have such agents take the duty.

    How many steps were written.
    """
    if not any(agent.graph.durability == HOT for agent in loop.agents().values()):
        return 0
    try:
        # First, since it is all that a store at rest is asked: a duty is a commit.
        if not streams.threads_with_entries(patience=0):
            return 0
        if not store.claim_duty(DRAIN, owner=owner, seconds=interval_seconds() * 3):
            return 0
        return store.drain_due()
    except HotStoreAway as error:
        log.warning("hot.not_drained", error=str(error))
        return 0


class Rest:
    """Counts the turns of a sweeper in which nothing was due."""

    def __init__(self) -> None:
        self._turns = 0

    def turn(self) -> bool:
        """Ask what may be due; return True where nothing is and the parts need not be asked."""
        if store.is_anything_due() or gates.is_anything_due():
            self._turns = 0
            return False
        self._turns += 1
        return self._turns > TURNS_TO_REST and self._turns % PARTS_EVERY != 0


def _look_for_stuck() -> int:
    """Learn what one agent's nodes usually take, then look for threads that take far longer."""
    if agent := _stuck_turns.next_agent():
        store.learn_node_times(agent)
    return announce_stuck_threads(turns=_stuck_turns) if _stuck_turns.look_due() else 0


def _look_for_incidents() -> int:
    """Group threads in trouble and send their news, every few seconds."""
    return sweep_incidents(_incident_turns) if _incident_turns.look_due() else 0


def _ring_stranded() -> int:
    stranded = store.stranded_threads(queued_for_seconds=interval_seconds())[:RINGS_PER_SWEEP]
    # A queue that nobody serves would fill the broker; PostgreSQL knows its threads anyway.
    full = {q for q in {queue for _, queue in stranded} if rings_waiting(q) >= RINGS_KEPT}
    rung = [(thread, queue) for thread, queue in stranded if queue not in full]
    for thread, queue in rung:
        # A slot that answers one ring continues and claims the others by itself.
        ring(thread_id=thread, queue=queue)
    return len(rung)


def _ring_for_messages() -> int:
    """Ring again for messages of ephemeral threads that no turn has taken."""
    try:
        waiting = copies.waiting(older_than_seconds=interval_seconds())[:RINGS_PER_SWEEP]
    except ContentAway:
        return 0  # what lies there is away as well
    for thread, queue in waiting:
        ring(thread_id=thread, queue=queue)
    return len(waiting)


def _record_utterances() -> int:
    """Record what people said where the web process that acknowledged it is gone."""
    try:
        return store.record_due()
    except HotStoreAway:
        return 0  # what lies there is away as well


def _announce_folders() -> int:
    """Floors above write them, in their own time; whether there is something to write."""
    if not queries.folders_due():
        return 0
    folders_due.send_robust(sender=None)
    return 1


def _call_retention() -> int:
    """A floor above archives and erases what rules say, a little with each sweep."""
    if not queries.any_retention_rule():
        return 0
    retention_due.send_robust(sender=None)
    return 1


def _call_verifier(owner: str) -> int:
    """A floor above verifies, in its own time."""
    verification_due.send_robust(sender=None, owner=owner)
    return 0


def _call_anchors(owner: str) -> int:
    """A floor above makes and sends them, in its own time."""
    if not getattr(settings, "GATEPOST_ANCHORS", ()):
        return 0
    anchors_due.send_robust(sender=None, owner=owner)
    return 1


class Sweeper:
    """The sweeping thread of one worker; it also asks its slots for their signs of life."""

    def __init__(self) -> None:
        self.worker = canary.worker_id()
        self._canary = canary.Canary()
        self._slots = 1
        self._processes: Callable[[], Sequence[int]] = tuple
        # So long without a beat that its lease is gone: something holds the whole interpreter.
        self._stuck = slots.Stuck(
            max(3, round(SILENT_LEASES * lease_seconds() / interval_seconds()))
        )
        self._announced = self._retired = False
        self._idle = Idle(_idle_exit[0]) if _idle_exit else None
        self._refused = 0
        self._clock, self._rest = ClockWatch(), Rest()
        self._renew_at = 0.0
        self._drained = 0  # steps of hot agents, the last time
        self._stop = threading.Event()
        self._turns = forks.Turn()
        self._thread = threading.Thread(target=self._turn_on, name="sweep", daemon=True)

    def start(self, *, slots: int, processes: Callable[[], Sequence[int]] = tuple) -> None:
        """Announce the worker, then sweep until stopped; `processes` are those of its pool."""
        self._slots = self._canary.slots = slots
        self._processes = processes
        try:
            self._announce()
        except (DatabaseError, InterfaceError) as error:
            # Tried again with each turn: a database that is away for a moment costs no sweeper.
            log.warning("worker.not_announced", error=str(error).strip())
            connection.close()
        self._thread.start()

    def _announce(self) -> None:
        if self._announced:
            return
        store.announce_worker(
            self.worker,
            host=socket.gethostname(),
            pid=os.getpid(),
            slots=self._slots,
            queues=loop.queues(),
            agents=[v for a in loop.agents().values() for v in a.versions],
            models={a.graph.name: models_of(a.model) for a in loop.agents().values()},
        )
        self._announced = True

    def _look_after_slots(self) -> None:
        """Say how lost slots ended, end those that turn no more, hear who wants to be left."""
        losses.record(loop.BOOT)
        for pid in self._stuck.look():
            if pid in self._processes():
                log.critical("slot.stuck", pid=pid)
                losses.end_silent(pid, loop.owner_of(pid), SILENT_LEASES * lease_seconds())
        slots.holding_off(queries.held_off_longest())

    def _count_refused(self) -> None:
        """Write how many messages were refused, so that monitoring sees it."""
        now = refusals.count()
        if now != self._refused:
            store.note_refused_messages(self.worker, now)
            self._refused = now

    def _has_duty(self) -> bool:
        """Return whether this worker sweeps; each second turn renews that for three."""
        now = time.monotonic()
        if now >= self._renew_at:
            held = store.claim_duty(DUTY, owner=self.worker, seconds=interval_seconds() * 3)
            self._renew_at = now + 1.5 * interval_seconds() if held else 0.0
        return self._renew_at > 0

    def _retire(self) -> None:
        if not self._retired:
            store.retire_worker(self.worker)
            self._retired = True

    def stop(self) -> None:
        """Stop, give the duty back and retire the worker."""
        self._stop.set()
        self._thread.join(timeout=1)
        try:
            for duty in (DUTY, DRAIN):
                store.forget_duty(duty, owner=self.worker)
            store.retire_worker(self.worker)
        except (DatabaseError, InterfaceError):
            log.warning("worker.not_retired", worker=self.worker)

    def _turn_on(self) -> None:
        try:
            while not self._stop.is_set():
                self._attempt(self._turn)
                self._wait()
        finally:
            connection.close()

    def _wait(self) -> None:
        """Wait for the next turn; while hot agents append, drain them in short pauses."""
        until = time.monotonic() + interval_seconds()
        while (left := until - time.monotonic()) > 0:
            if self._stop.wait(min(left, DRAIN_SECONDS) if self._drained else left):
                return
            if self._drained:
                self._attempt(self._drain)

    def _turn(self) -> None:
        if stop_requested():
            # It takes nothing any more: nobody may leave a thread to it.
            self._retire()
        else:
            self._announce()
        self._canary.turn()
        self._count_refused()
        self._look_after_slots()
        if self._has_duty():
            self._clock.look(worker=self.worker)
            if not self._rest.turn():
                sweep_once(owner=self.worker)
        self._drain()
        if self._idle is not None:
            self._idle.turn()

    def _drain(self) -> None:
        self._drained = 0
        self._drained = drain_once(owner=self.worker)

    def _attempt(self, work: Callable[[], None]) -> None:
        with self._turns.taken():
            try:
                work()
            except (DatabaseError, InterfaceError) as error:
                log.warning("sweep.failed", error=str(error).strip())
                connection.close()
            except Exception:
                # Whatever it is: were this thread to end, lost threads would stay lost.
                log.exception("sweep.failed")


_sweepers: list[Sweeper] = []
_asked_for: list[str] = []
_idle_exit: list[float] = []


@celeryd_init.connect(dispatch_uid="workers.queues")
def note_options(options: Any = None, **_kwargs: Any) -> None:
    """Remember with which queues the worker was started, and when it ends by itself."""
    _asked_for[:] = str_to_list((options or {}).get("queues")) or []
    seconds = (options or {}).get("idle_exit")
    _idle_exit[:] = [seconds] if seconds else []


@celeryd_after_setup.connect(dispatch_uid="workers.agents")
def load_agents(instance: Any = None, **_kwargs: Any) -> None:
    """Import the agents once, before the pool forks, and listen to the queues that they name.

    A worker started with queues keeps to those. One whose agents cannot be loaded ends with
    the reason as its last line: it would take messages and could work on nothing.
    """
    try:
        loop.agents()
    except (DatabaseError, InterfaceError):
        raise  # they are loaded with the first thread, once the database is back
    except Exception as error:
        log.exception("worker.no_agents")
        reason = error.message if isinstance(error, GatepostError) else repr(error)
        # Celery's signals pass on what is no Exception, and nothing else ends a worker here.
        raise SystemExit(f"The agents cannot be loaded: {reason}") from error
    forks.import_ahead()
    connection.close()
    consumed = instance.app.amqp.queues
    for name in () if _asked_for else loop.queues():
        consumed.select_add(name)
    loop.listen(consumed.consume_from)
    canary.listen(consumed)


@worker_ready.connect(dispatch_uid="workers.slot.sweep.start")
def start_sweeping(sender: Any = None, **_kwargs: Any) -> None:
    """Begin with the worker."""
    sweeper = Sweeper()
    pool = getattr(getattr(sender, "controller", None), "pool", None)
    losses.belongs_to(pool)
    number = int(getattr(pool, "limit", None) or 1)
    sweeper.start(slots=number, processes=lambda: pool_info(pool).get("processes", ()))
    _sweepers.append(sweeper)


def pool_info(pool: Any) -> dict[str, Any]:
    """The info of Celery's pool; a pool of threads has no processes."""
    results: dict[str, Any] = getattr(pool, "info", None) or {}
    return results


@worker_shutting_down.connect(dispatch_uid="workers.slot.sweep.shutting_down")
def stop_at_boundaries(**_kwargs: Any) -> None:
    """Let every step of this worker stop at its next boundary and hand its thread back."""
    request_stop()


@worker_shutdown.connect(dispatch_uid="workers.slot.sweep.stop")
def stop_sweeping(**_kwargs: Any) -> None:
    """End with the worker."""
    while _sweepers:
        _sweepers.pop().stop()
