"""How things happen once: positions, records, and the boundaries between two of them."""

from __future__ import annotations

import hashlib
import random
import time
import uuid as uuids
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DatabaseError
from uuid_utils.compat import uuid7

from approvals.policies.reservations import NO_BOUND, Estimate
from checkpoints.names import escaped, name_fault
from checkpoints.records import CURSOR_BYTES, NewActivity, Position
from checkpoints.state import deltas, marked
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import ActivityRow

from ..authoring.errors import Asleep, Halted, HandBack, StepFailed
from ..authoring.frozen import plain
from ..authoring.retry_policy import Retry
from ..step import secret_values
from ..step.advice import check_file, check_key, check_seconds, exact_form, storable
from ..step.answer_notes import usage_of
from ..step.answers import chunks_of, describe, result_of, was_known
from ..step.guard import unguarded, watched
from ..step.results import bounded_form
from ..step.retries import sleep_before_retry, wait_with_others
from .cursors import CursorState, left_by
from .scratch import Scratch, stamp_of

if TYPE_CHECKING:
    from ..step.step import OpenStep

# After so long a call looks once more whether the calls before it have left room under a limit.
RESERVED_SECONDS = 2.0
# A wait in place looks so often whether the worker stops.
BOUNDARY_SECONDS = 0.2
log = structlog.get_logger("gatepost.engine")
here: ContextVar[Any] = ContextVar("gatepost_context", default=None)


class Recording:
    """A node's records in one step: asked again at the same position, they answer."""

    def __init__(self, step: OpenStep, node: str) -> None:
        self._step = step
        self._node = node
        self._ordinals: dict[str, int] = {}
        self._current: NewActivity | None = None
        self._cursors = CursorState()
        self._scratch = Scratch()
        self._looked_at: set[str] = set()  # by the working activity, beside its arguments
        self._kept_at = 0.0
        self._keeps_cursor = True  # not while an activity is carried out as an effect

    # ---- positions ---------------------------------------------------------------------------

    def _position(self, name: str, key: str | None = None) -> Position:
        label, position = key or name, self._next_position(name, key)
        if (fault := name_fault(label)) and self._step.record_at(position) is None:
            self._refuse_key(label, fault)
        self._ordinals[label] = self._ordinals.get(label, 0) + 1
        return position

    def _refuse_key(self, label: str, fault: str) -> None:
        """Raise StepFailed for a key that is none, unless the thread has such keys on record."""
        work = self._step.work
        if not self._step.ledger.has_faulty_keys(work):
            raise StepFailed(f"The key {escaped(label)} {fault}.")
        log.warning("faulty_key", thread=str(work.thread), key=escaped(label), fault=fault)

    def _next_position(self, name: str, key: str | None = None) -> Position:
        """The position that `_position` returns next."""
        label, step = key or name, self._step
        check_key(label)
        ordinal = self._ordinals.get(label, 0)
        return Position(step.work.branch, step.number, self._node, 0, f"{label}#{ordinal}")

    def _new(self, position: Position, kind: str, tool: str, args: Any, **more: Any) -> NewActivity:
        # Only what changes the outside world gets a key; for others the position is enough.
        key = self._key(position, more.get("revision", 0)) if kind == "effect" else ""
        return NewActivity(
            id=more.pop("id", None) or uuid7(),
            position=position,
            kind=kind,
            tool=tool,
            args=args,
            idempotency_key=key,
            **more,
        )

    def _key(self, p: Position, revision: int = 0) -> str:
        """One key per position, the same after crash, retry, edit, upgrade and failover.

        An effect that a person lets happen once more is another one, with a key of its own.
        """
        parts = [str(self._step.work.chain_id), p.branch, p.step, p.node, p.index, p.key]
        if revision:
            parts.append(revision)
        return hashlib.sha256(deltas.canonical(parts)).hexdigest()

    @contextmanager
    def _inside(self, activity: NewActivity, cursor: bytes | None = None) -> Iterator[None]:
        token = here.set(self)
        secrets = secret_values.used.set(self._step.secrets)
        self._current, self._cursors, self._scratch = activity, CursorState(cursor), Scratch()
        try:
            with unguarded():
                yield
        except BaseException as error:
            if isinstance(error, Exception):
                self._keep_cursor(activity)  # a call that failed loses no cursor that it set
            with unguarded():
                self._scratch.remove()
            raise
        finally:
            self._current = None
            secret_values.used.reset(secrets)
            here.reset(token)

    def _keep_cursor(self, activity: NewActivity, progress: Any = None) -> bool:
        """Commit the cursor of the working activity, if it set one; raises LeaseLost."""
        cursor = self._taken_cursor()
        if cursor is None:
            return False
        moved_on = cursor != self._cursors.former
        step = self._step
        step.ledger.keep_cursor(
            step.work,
            activity,
            cursor=cursor,
            progress=progress,
            moved_on=moved_on and bool(step.work.crash_count),
            events=step.take_events(),
        )
        return True

    def _taken_cursor(self) -> bytes | None:
        """The cursor that was set last, with its scratch files as artifacts.

        None where there is no new one, and where a file of it was written to since: beside it the
        file would hold more than the cursor says.
        """
        cursor, stamps = self._cursors.take(), self._cursors.stamps
        if cursor is None or not stamps:
            return cursor
        if any(stamp_of(path) != stamp for path, stamp in stamps.items()):
            return None
        value = self._as_artifacts(deltas.decode(cursor.decode()))
        storable(value, "This cursor", at_most=CURSOR_BYTES)
        return deltas.canonical(value)

    def _as_artifacts(self, value: Any) -> Any:
        """A value with references in the place of paths below the call's scratch folder."""
        with unguarded():
            return self._scratch.with_artifacts(value, self.artifact)

    def _result(self, returned: Any, name: str) -> tuple[Any, Any]:
        """(the result of a call as its record holds it, as the node gets it).

        Removes its scratch folder. Raises StepFailed for a secret, and for a path of a file.
        """
        try:
            return self._recorded_form(self._as_artifacts(plain(returned)), name)
        finally:
            with unguarded():
                self._scratch.remove()

    def _recorded_form(self, returned: Any, name: str) -> tuple[Any, Any]:
        form = exact_form(returned, f"What {name!r} returned")
        self._step.refuse_secrets(marked.readable(form), f"What {name!r} returned", of=name)
        with unguarded():
            return bounded_form(form, name, self._keep_file), marked.unmark(form)

    def _keep_file(self, name: str, media_type: str, chunks: list[bytes]) -> dict[str, Any]:
        return self.artifact(name, chunks, media_type)

    def artifact(
        self, name: str, data: bytes | Path | Iterable[bytes], media_type: str
    ) -> dict[str, Any]:
        """Keep a file outside the state; the reference to put into the state or a result."""
        check_file(name, media_type)
        self._step.refuse_secrets(name, "A file's name")
        chunks = watched(chunks_of(data))
        ref = self._step.ledger.artifact(self._step.work, name, media_type, chunks)
        self._step.add_event(
            NewEvent(
                EventKind.ARTIFACT_STORED,
                {
                    "node": self._node,
                    "name": ref["name"],
                    "sha256": ref["$artifact"],
                    "size": ref["size"],
                    "media_type": media_type,
                },
                self._step.work.owner,
            )
        )
        return ref

    def _boundary(self) -> None:
        """Between two things that happen once: the place to stop without losing any of them."""
        self._step.heartbeat.check()
        if self._step.stopping():
            raise HandBack

    def _once(
        self,
        position: Position,
        kind: str,
        name: str,
        value: Any,
        call: Callable[[], Any],
        used: Callable[[Any], tuple[Any, dict[str, Any]]] | None = None,
        retry: Retry | None = None,
        most: Callable[[], Estimate] = lambda: NO_BOUND,
    ) -> Any:
        """The result recorded at a position, else that of `call`, recorded now.

        A model call first reserves what it may cost at `most`. `used` parts what `call` returned
        into the result and what it took. An error that `retry` tries again lets the thread sleep;
        without a policy every error is the node's.
        """
        known = self._step.record_at(position)
        if (
            known is not None
            and known.state == "done"
            and deltas.canonical(known.args) == deltas.canonical(value)
        ):
            return self._step.value_of(known.result, name)
        self._boundary()
        ledger = self._step.ledger
        if kind == "model" and (why := ledger.spend_refusal(self._step.work)):
            raise Halted(why)
        if kind == "activity" and (why := ledger.over_budget(self._step.work)):
            raise Halted(why)
        if kind != "model":
            return self._called(position, kind, name, value, call, used, retry, known)
        self._reserve(position, most)
        try:
            return self._called(position, kind, name, value, call, used, retry, known)
        finally:
            self._release(position)

    def _reserve(self, position: Position, most: Callable[[], Estimate]) -> None:
        """Reserve what a call may cost; raises Halted at a limit, Asleep for calls under way."""
        refusal = self._step.ledger.reserve(self._step.work, position, most)
        if refusal is None:
            return
        if refusal.for_others:
            raise Asleep(RESERVED_SECONDS, refusal.reason)
        raise Halted(refusal.reason)

    def _release(self, position: Position) -> None:
        # One that cannot be dropped ends with the step or the lease; the outcome counts more.
        with suppress(DatabaseError):
            self._step.ledger.release(self._step.work, position)

    def _called(
        self,
        position: Position,
        kind: str,
        name: str,
        value: Any,
        call: Callable[[], Any],
        used: Callable[[Any], tuple[Any, dict[str, Any]]] | None,
        retry: Retry | None,
        known: ActivityRow | None,
    ) -> Any:
        """Call a function and record the outcome; try again here where the thread may not sleep."""
        while True:
            try:
                return self._call_once(position, kind, name, value, call, used, retry, known)
            except Asleep as sleep:
                if not self._step.ledger.waits_here(self._step.work, sleep.seconds):
                    raise
                self._wait_here(sleep.seconds)

    def _wait_here(self, seconds: float) -> None:
        """Wait in this process; a worker that stops need not wait for that."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._boundary()
            time.sleep(min(left, BOUNDARY_SECONDS))

    def _call_once(
        self,
        position: Position,
        kind: str,
        name: str,
        value: Any,
        call: Callable[[], Any],
        used: Callable[[Any], tuple[Any, dict[str, Any]]] | None,
        retry: Retry | None,
        known: ActivityRow | None,
    ) -> Any:
        """Call a function and record the outcome at its position.

        1. Wait while the service has asked every caller to wait.
        2. Make the activity: the one that failed here before, or a new revision of it.
        3. Call with its cursor, and bring what is returned into the form that is recorded.
        4. Record the error, and whether it is tried again; or the result with its usage.
        """
        wait_with_others(self._step, retry, name)
        same = known is not None and known.state != "done"
        if known is None or deltas.canonical(known.args) != deltas.canonical(value):
            self._step.refuse_secrets(value, f"What {name!r} is called with", of=name)
        cursor, with_it = left_by(known, value)
        activity = self._new(
            position,
            kind,
            name,
            value,
            **with_it,
            id=known.id if known is not None and same else None,
            revision=self._step.revision(position, same=same),
            attempts=known.attempts + 1 if known is not None and same else 1,
        )
        self._step.flush_if_many()
        began = time.monotonic()
        usage: dict[str, Any] = {}
        try:
            with self._inside(activity, cursor):
                returned = result_of(call)
            if used is not None:
                returned, usage = used(returned)
                if isinstance(returned, Exception):
                    raise returned
            result, value_of_call = self._result(returned, name)
        except MemoryError:
            raise  # there may be none left to write it down with
        except Exception as error:
            if (sleep := self._record_error(activity, retry, error, usage)) is not None:
                raise sleep from error
            raise
        self._step.heartbeat.check()
        took = round((time.monotonic() - began) * 1000)
        if took and kind != "value" and not was_known(usage):
            usage["milliseconds"] = took
        events = self._step.take_events()
        self._step.ledger.record(
            self._step.work, activity, result=result, usage=usage or None, events=events
        )
        return value_of_call

    def _record_error(
        self,
        activity: NewActivity,
        retry: Retry | None,
        error: Exception,
        usage: dict[str, Any],
    ) -> Asleep | None:
        """Record that a call failed; the sleep before it is tried again, if it is."""
        self._step.heartbeat.check()
        sleep = sleep_before_retry(self._step, retry, activity.tool, activity, error)
        self._step.ledger.record(
            self._step.work,
            activity,
            error=self.error_text(error),
            retry_in=None if sleep is None else sleep.seconds,
            usage=usage or usage_of(error) or None,  # a call that failed may cost as well
            events=self._step.take_events(),
        )
        return sleep

    def recorded(self, name: str, args: Any, *, key: str | None = None) -> list[Any]:
        """Return the results that `record` has saved under a key for these arguments, oldest first.

        The next `record` under the key follows them. Where there are none, the node hands the
        thread back here if its worker is stopping.
        """
        label, value, results = key or name, deltas.canonical(plain(args)), []
        while True:
            ordinal = self._ordinals.get(label, 0)
            position = self._position(name, key)
            known = self._step.record_at(position)
            if known is None or known.state != "done" or deltas.canonical(known.args) != value:
                self._ordinals[label] = ordinal
                break
            results.append(self._step.value_of(known.result, name))
        if not results:
            self._boundary()
        return results

    def record(self, name: str, args: Any, result: Any, *, key: str | None = None) -> None:
        """Record an activity that has already finished; `recorded` returns its result.

        For adapters whose framework calls functions by itself. It also works while the worker is
        stopping, so that nothing finished is lost. Arguments must be JSON.
        """
        position = self._position(name, key)
        value = plain(args)
        storable(value, f"What {name!r} is called with")
        self._step.refuse_secrets(value, f"What {name!r} is called with", of=name)
        stored, _ = self._recorded_form(plain(result), name)
        self._step.heartbeat.check()
        revision = self._step.revision(position, same=False)
        activity = self._new(position, "activity", name, value, revision=revision)
        events = self._step.take_events()
        # Only `recorded` answers from it, and only at this position: a fork calls again.
        more = {"knows_more": True}
        self._step.ledger.record(
            self._step.work, activity, result=stored, usage=more, events=events
        )

    def error_text(self, error: Exception) -> str:
        """An error as it is recorded: without the secrets that the step has read."""
        return self._step.masked(describe(error))

    def now(self) -> datetime:
        """The time, recorded: the same after every stop."""
        position = self._position("now")
        seconds = self._once(position, "value", "now", {}, self._step.ledger.clock)
        return datetime.fromtimestamp(seconds, UTC)

    def random(self) -> float:
        """A random number in [0, 1), recorded."""
        return float(self._once(self._position("random"), "value", "random", {}, random.random))

    def uuid(self) -> uuids.UUID:
        """A random id, recorded."""
        made = self._once(self._position("uuid"), "value", "uuid", {}, lambda: str(uuids.uuid4()))
        return uuids.UUID(made)

    def sleep(self, seconds: float) -> None:
        """Let the thread sleep without a worker; it continues here when the time has come."""
        check_seconds(seconds, "ctx.sleep", needed=True)
        clock = self._step.ledger.clock
        position = self._position("sleep")
        until = self._once(
            position, "value", "sleep", {"seconds": seconds}, lambda: clock() + seconds
        )
        left = until - clock()
        if left > 0:
            raise Asleep(left)
