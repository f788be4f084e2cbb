"""Steps that are lost with their slot: why, so far as anybody can say, and the end of the slot.

Each cause is an event under the lease (`step.failed`, marked as lost), which runs out with it; the
next worker counts a crash, and at the third the sweep parks the thread and names the cause.
"""

from __future__ import annotations

import os
import queue
import re
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import WorkerLostError
from billiard.process import current_process
from celery.signals import task_failure, worker_process_init
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.limits import SILENT_ALLOWED
from checkpoints.postgres import outages
from checkpoints.records import Work

from .. import shared_page

log = structlog.get_logger("gatepost.losses")
EXIT_PAST_LIMIT, EXIT_MEMORY = 71, 72
_EXIT = re.compile(r"exitcode (\d+)|signal (\d+)(?: \((\w+)\))?")
# (thread, how its process ended), from the main process's loop to its sweeping thread.
_pool: list[Any] = []
_ended: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
_ended_here: set[int] = set()  # processes that the watchdog of this worker ended


# ---- in a slot ----


@worker_process_init.connect(dispatch_uid="workers.slot.losses.slot")
def begin_slot(**_kwargs: Any) -> None:
    """A process of the pool begins: say which slot it is, and bound its memory."""
    shared_page.enter(int(getattr(current_process(), "index", -1)))
    bound_memory(int(settings.GATEPOST_SLOT_MEMORY_MB))


def bound_memory(megabytes: int) -> None:
    """Let what needs more end with MemoryError instead of taking the machine along; 0: no bound."""
    if megabytes <= 0:
        return
    size = megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    except (ValueError, OSError) as error:  # not everywhere can it be bounded
        log.warning("slot.memory_not_bounded", megabytes=megabytes, error=str(error))


def past_limit(thread: UUID, token: UUID, node: str, seconds: float) -> None:
    """Give up a node that has worked too long; ends this slot where it is a process by itself.

    In a pool of threads nobody can end it: it is left behind, and its lease is gone.
    """
    why = f"went past its limit of {seconds:g} s"
    log.critical("step.past_limit", thread=str(thread), node=node, seconds=seconds)
    _note(thread, token, why, node)
    _end_slot(EXIT_PAST_LIMIT)


def out_of_memory(work: Work) -> None:
    """Give up a step that got no more memory; ends this slot, whose heap may be full of holes."""
    bound = int(settings.GATEPOST_SLOT_MEMORY_MB)
    why = "needed more memory than " + (f"a slot may have ({bound} MB)" if bound else "there is")
    log.critical("step.out_of_memory", thread=str(work.thread), step=work.step + 1)
    _note(work.thread, work.token, why)
    _end_slot(EXIT_MEMORY)


def not_stored(work: Work, error: Exception) -> None:
    """Note that the database stored nothing of a step, where it answers again by now."""
    if outages.sqlstate(error):
        _note(work.thread, work.token, f"could not be stored: {outages.outage(error)}")


def _note(thread: UUID, token: UUID, why: str, node: str = "") -> None:
    try:
        lease = queries.lease(thread)
        if lease is not None and lease.token == token:
            store.lose_step(replace(lease, node=node or lease.node), why=why)
    except (DatabaseError, InterfaceError, MemoryError) as error:
        # The lease runs out by itself; the main process still sees how this one ended.
        log.warning("step.loss_not_noted", thread=str(thread), error=str(error).strip())


def _end_slot(code: int) -> None:
    if shared_page.own_process():
        sys.stderr.flush()
        os._exit(code)
    executor: Any = getattr(_pool[0], "executor", None) if _pool else None
    if isinstance(executor, ThreadPoolExecutor) and code == EXIT_PAST_LIMIT:
        # Nobody can end the thread that hangs: another one takes its place.
        executor._max_workers += 1  # noqa: SLF001 - no public way
        executor._adjust_thread_count()  # noqa: SLF001 - no public way


# ---- in the main process ----


@task_failure.connect(dispatch_uid="workers.slot.losses.ended")
def hear(sender: Any = None, exception: Any = None, args: Any = None, **_kwargs: Any) -> None:
    """A slot's process has ended under a doorbell; the sweeping thread looks what that means."""
    ours = getattr(sender, "name", "") == "gatepost.advance"
    if isinstance(exception, WorkerLostError) and ours and args:
        how = ending(str(exception))
        if how:
            _ended.put((str(args[0]), how))


def end_silent(pid: int, owner: str, seconds: float) -> None:
    """End a slot's process that gave no sign for so long, and say at its steps that we did.

    A step that is lost so a second time is not tried again: it would hold the next slot as well.
    """
    _ended_here.add(pid)
    with suppress(ProcessLookupError):  # it has just ended by itself
        os.kill(pid, signal.SIGKILL)
    for lease in queries.leases_of(owner):
        before = [why for _, why in queries.losses(lease.thread) if why.startswith(store.SILENT)]
        last = len(before) + 1 >= SILENT_ALLOWED
        store.lose_step(lease, why=store.silent_why(seconds), last=last)


def belongs_to(pool: Any) -> None:
    """The pool of this worker, known from its start on."""
    _pool[:] = [pool]


def record(boot: str) -> int:
    """Record how the processes of lost steps of this worker (its `boot` id) ended; how many."""
    payload = 0
    while not _ended.empty():
        thread, how = _ended.get()
        try:
            lease = queries.lease(UUID(thread))
        except (NotFound, ValueError):
            continue
        if lease is not None and _is_gone(lease.owner, boot) and not _by_us(lease.owner):
            payload += store.lose_step(lease, why=how)
    return payload


def ending(text: str) -> str:
    """Describe how a process ended, by the pool's message; "" where the process reported it."""
    match = _EXIT.search(text)
    if match is None:
        return "lost its process"
    if match[1]:
        payload = int(match[1]) in (EXIT_PAST_LIMIT, EXIT_MEMORY)
        return "" if payload else f"ended its process with exit code {match[1]}"
    hint = ", as when the machine is out of memory" if match[2] == "9" else ""
    return f"lost its process to {match[3] or f'signal {match[2]}'}{hint}"


def _by_us(owner: str) -> bool:
    """Answer True if the process of a lease's owner was ended by the watchdog, which noted why."""
    return any(owner.split(":")[-2:-1] == [str(pid)] for pid in _ended_here)


def _is_gone(owner: str, boot: str) -> bool:
    """Answer True if a lease's owner was a slot of this very worker that has ended."""
    *_, pid, its_boot = ["", "", *owner.split(":")]
    if its_boot != boot or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    return False
