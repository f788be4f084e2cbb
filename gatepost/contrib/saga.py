"""SagaManager: forward steps with compensations, undone last first when one of them fails.

    saga = SagaManager(logger)
    ok = saga.execute_workflow([
        ("reserve", lambda: reserve("A1"), orders.release),
        ("pay", lambda: pay("A1"), orders.refund),
    ])

A compensation that is a module's function with JSON arguments is written to the database before
it can be needed: when this process dies, a worker makes the call. Any other (a lambda, a closure,
a method) lives in this process only, and the log says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import structlog
from django.core.exceptions import AppRegistryNotReady, ImproperlyConfigured
from django.db import DatabaseError, InterfaceError

from checkpoints.errors import ConcurrentModificationError, GatepostError, NotAllowedNow
from checkpoints.records import NewActivity
from checkpoints.states import EventKind
from workers.slot.saga_record import Record, as_data

log = structlog.get_logger("gatepost.saga")
Step = tuple[str, Callable[[], Any], Callable[..., Any] | None]
PATIENT = "More steps may follow; cancel it with undo to take back those that are registered."


class Compensation(tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]):
    """(function, args, kwargs); `recorded` is its record, None if it is in memory only."""

    recorded: tuple[Record, NewActivity] | None = None


class SagaManager:
    """Runs steps forward and takes back those that were done; also by hand, call by call.

    `logger` gets one info per step, one error for the step that fails and one critical for each
    compensation that fails. `title` and `workspace` are those of the thread that keeps what is
    durable; inside an activity of an agent it is a child of that agent's thread.
    """

    def __init__(self, logger: Any = None, *, title: str = "", workspace: UUID | None = None):
        self.compensations: list[Compensation] = []
        self.logger = logger
        self._title = title
        self._workspace = workspace
        self._record: Record | None = None
        self._works = False

    def register_compensation(
        self, rollback_function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """Remember how to take back what has been done."""
        value = as_data(rollback_function, args, kwargs)
        saved = None
        if value is not None:
            try:
                saved = self._started(value["call"].rpartition(":")[2], value)
            except (DatabaseError, InterfaceError, GatepostError) as error:
                # What has happened must not lose its undo for want of a record.
                log.warning("saga.in_process", call=value["call"], why=str(error).strip())
        else:
            _log_failure(rollback_function)
        self._remember(rollback_function, args, kwargs, saved)
        if saved is not None:
            saved[0].ended(saved[1])
            if not self._works:
                saved[0].leave(EventKind.THREAD_PAUSED, PATIENT)

    def execute_workflow(self, steps: Sequence[Step]) -> bool:
        """Do the steps in order; False when one failed and those before it were taken back."""
        self._works = True
        try:
            for name, forward, rollback in steps:
                try:
                    self._say("info", f"Executing step: {name}")
                    self._do(name, forward, rollback)
                except Exception as error:
                    self._say("error", f"Failed at step '{name}': {error}. Triggering rollback...")
                    self._roll_back(f"Failed at step {name!r}: {error}")
                    return False
            if self._record is not None and self._record.work is not None:
                try:
                    self._record.leave(EventKind.THREAD_SUCCEEDED)
                except ConcurrentModificationError as error:
                    # This process stood still for so long that a worker takes it all back.
                    self._say("error", f"Lost the lease: {error}. Triggering rollback...")
                    self._roll_back("Lost the lease")
                    return False
                self._record = None
            return True
        except BaseException:
            # Interrupted: not failed, not done. Without its lease a worker takes it back.
            if self._record is not None:
                self._record.abandon()
            raise
        finally:
            self._works = False

    def rollback(self) -> None:
        """Take back everything registered, last first; what fails stays registered."""
        self._roll_back("Rolled back by its own process")

    # ---- forward -----------------------------------------------------------------------------

    def _do(
        self, name: str, forward: Callable[[], Any], rollback: Callable[..., Any] | None
    ) -> None:
        value = None if rollback is None else as_data(rollback, (), {})
        saved = self._started(name, value) if value is not None else None
        try:
            forward()
        except Exception as error:
            if saved is not None:
                with suppress(ConcurrentModificationError):
                    saved[0].ended(saved[1], error)
            raise
        if rollback is not None:
            if value is None:
                _log_failure(rollback)
            self._remember(rollback, (), {}, saved)
        if saved is not None:
            saved[0].ended(saved[1])

    def _started(self, name: str, payload: dict[str, Any]) -> tuple[Record, NewActivity] | None:
        """Record the start of a step; None where there is no database at all."""
        try:
            if self._record is None:
                self._record = Record.begin(self._title or f"Saga: {name}", self._workspace)
            self._record.take()
        except (ImproperlyConfigured, AppRegistryNotReady) as error:
            log.warning("saga.in_process", call=payload["call"], why=f"no database: {error}")
            return None
        return self._record, self._record.started(name, payload)

    def _remember(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        recorded: tuple[Record, NewActivity] | None,
    ) -> None:
        entry = Compensation((call, args, dict(kwargs)))
        entry.recorded = recorded
        self.compensations.append(entry)

    # ---- back --------------------------------------------------------------------------------

    def _roll_back(self, reason: str) -> None:
        records = self._begin_undo(reason)
        try:
            for entry in reversed(list(self.compensations)):
                error = self._take_back(entry)
                if error is None:
                    self.compensations = [e for e in self.compensations if e is not entry]
                else:
                    self._say("critical", f"Compensating transaction failed: {error}")
            for record in records:
                with suppress(ConcurrentModificationError):
                    record.finish_undo()
        finally:
            for record in records:
                record.abandon()
            self._record = None

    def _begin_undo(self, reason: str) -> list[Record]:
        """Let the database know of the undo before its first call; the threads it concerns."""
        wanted: dict[UUID, tuple[Record, list[UUID]]] = {}
        if self._record is not None:
            wanted[self._record.thread] = (self._record, [])
        for entry in reversed(self.compensations):
            if entry.recorded is not None:
                record, activity = entry.recorded
                wanted.setdefault(record.thread, (record, []))[1].append(activity.id)
        for record, idents in wanted.values():
            try:
                record.begin_undo(idents, reason)
            except (ConcurrentModificationError, NotAllowedNow) as error:
                # A worker has taken the thread over: it undoes what stands there.
                log.warning("saga.taken_over", thread=str(record.thread), why=error.message)
            except (DatabaseError, InterfaceError, GatepostError) as error:
                record.away = error
        return [record for record, _ in wanted.values()]

    def _take_back(self, entry: Compensation) -> Exception | None:
        """Make one call, unless a worker does; what went wrong."""
        call, args, kwargs = entry
        if entry.recorded is None:
            try:
                call(*args, **kwargs)
            except Exception as error:
                return error
            return None
        record, activity = entry.recorded
        undoing = record.undoing
        if undoing is None:
            return record.away
        try:
            undoing.take_back(activity.id)
        except ConcurrentModificationError:
            return None
        return undoing.errors.get(activity.id)

    def _say(self, level: str, text: str) -> None:
        if self.logger:
            getattr(self.logger, level)(text)


def _log_failure(call: Callable[..., Any]) -> None:
    log.warning(
        "saga.in_process",
        call=getattr(call, "__qualname__", repr(call)),
        why="not a module's function with JSON arguments; it is lost with this process",
    )
