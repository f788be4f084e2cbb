"""Waits for news from outside: `ctx.wait` leaves the node until a signal of that name comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from checkpoints.limits import NAME_MAX
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.state.schema_texts import with_order
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import SignalRow

from ..authoring.checks import check_text
from ..authoring.errors import SignalAwaited, StepFailed
from ..authoring.frozen import plain
from ..authoring.messages import check_any_schema, fault
from ..authoring.signals import Signal
from ..step.advice import EVENT_BYTES, check_seconds, storable
from .children import Children

WAIT: Final = "wait"


class Signals(Children):
    """A node's waits in one step."""

    def wait(
        self,
        name: str,
        *,
        within: timedelta | float | None = None,
        schema: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Signal | None:
        """Wait without a worker for a signal of this name; None when none came in time.

        1. Answer from the record if this wait has finished before: for good.
        2. Take the oldest signal of the name that fits `schema`; one that came first was kept.
        3. Leave the node while there is none and the time is not over.

        `within` counts from the first time that the node reaches this wait; a number is seconds.
        A kept signal that does not fit `schema` is refused, with an event that says why. `key`
        identifies the wait where waits come in no fixed order.
        """
        check_text(name, "A signal's name")
        if not name.strip() or len(name) > NAME_MAX:
            raise StepFailed(f"A signal's name must have 1 to {NAME_MAX} characters.")
        seconds = within.total_seconds() if isinstance(within, timedelta) else within
        check_seconds(seconds, "within=")
        form = plain(schema)
        if form is not None:
            check_any_schema(form, "schema=")
        args = {"signal": name, "within": seconds, "schema": form}
        storable(args, "What this wait says", at_most=EVENT_BYTES)
        position = self._position(WAIT, key)
        known = self._step.record_at(position)
        if (
            known is not None
            and known.state == "done"
            and deltas.canonical(known.args) == deltas.canonical(args)
        ):
            return _signal(name, known.result)
        self._boundary()
        until = self._deadline(position, seconds)
        step = self._step
        taken, refused = self._chosen(step.ledger.signals(step.work, name), position, form)
        left = None if until is None else until - step.ledger.clock()
        settled = [row.seq for row, _ in refused]
        for row, why in refused:
            path, _, reason = why.partition(": ")
            data = {"signal": name, "received": row.seq, "node": self._node}
            data |= {"path": path, "why": reason[:EVENT_BYTES]}
            step.add_event(NewEvent(EventKind.SIGNAL_REFUSED, data, step.work.owner))
        if taken is None and (left is None or left > 0):
            if settled:
                step.ledger.events(step.work, step.take_events(), signals=settled)
            raise SignalAwaited(name, with_order(form), until=until, seconds=left)
        revision = step.revision(position, same=False)
        activity = self._new(position, "activity", WAIT, args, revision=revision)
        result: dict[str, Any] = {"timed_out": True}
        if taken is not None:
            settled.append(taken.seq)
            result = {"value": taken.value, "by": taken.actor, "received": taken.seq}
            data = {"signal": name, "received": taken.seq}
            data |= {"activity": str(activity.id), "node": self._node}
            step.add_event(NewEvent(EventKind.SIGNAL_TAKEN, data, step.work.owner))
        events = step.take_events()
        step.ledger.record(step.work, activity, result=result, events=events, signals=settled)
        return _signal(name, result)

    def _chosen(
        self, rows: Sequence[SignalRow], position: Position, schema: Mapping[str, Any] | None
    ) -> tuple[SignalRow | None, list[tuple[SignalRow, str]]]:
        """(the oldest that fits the schema, those before it that do not, each with the reason)."""
        refused: list[tuple[SignalRow, str]] = []
        for row in rows:
            # Of nodes that work at the same time each may have read it; one has it.
            if self._step.signals.setdefault(row.seq, position) != position:
                continue
            why = "" if schema is None else fault(row.value, schema)
            if not why:
                return row, refused
            refused.append((row, why))
        return None, refused


def _signal(name: str, result: Mapping[str, Any]) -> Signal | None:
    """The signal that a wait has on record; None where its time was over."""
    if result.get("timed_out"):
        return None
    return Signal(name, deltas.copied(result["value"]), result["by"])
