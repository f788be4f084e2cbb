"""How things happen once: positions, records, and the boundaries between two of them."""

from __future__ import annotations

import hashlib
import random
import time
import uuid as uuids
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from uuid_utils.compat import uuid7

from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas

from ..authoring.errors import Asleep, Halted, HandBack
from ..authoring.frozen import plain
from ..authoring.retry_policy import Retry
from ..step.advice import check_key, check_seconds, storable
from ..step.answers import describe, result_of, was_known
from ..step.guard import unguarded
from ..step.retries import again, wait_with_others
from .cursors import Told, left_by

if TYPE_CHECKING:
    from ..step.step import OpenStep

here: ContextVar[Any] = ContextVar("gatepost_context", default=None)


class Recording:
    """A node's records in one step: asked again at the same position, they answer."""

    def __init__(self, run: OpenStep, node: str) -> None:
        self._run = run
        self._node = node
        self._ordinals: dict[str, int] = {}
        self._current: NewActivity | None = None
        self._told = Told()
        self._looked_at: set[str] = set()  # by the working activity, beside its arguments
        self._kept_at = 0.0

    # ---- positions ---------------------------------------------------------------------------

    def _position(self, name: str, key: str | None = None) -> Position:
        label = key or name
        check_key(label)
        ordinal = self._ordinals.get(label, 0)
        self._ordinals[label] = ordinal + 1
        run = self._run
        return Position(run.work.branch, run.step, self._node, 0, f"{label}#{ordinal}")

    def _new(self, position: Position, kind: str, tool: str, args: Any, **more: Any) -> NewActivity:
        # Only what changes the outside world is told its key; the others' is as good as its place.
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
        place = [str(self._run.work.chain_id), p.branch, p.step, p.node, p.index, p.key]
        if revision:
            place.append(revision)
        return hashlib.sha256(deltas.canonical(place)).hexdigest()

    @contextmanager
    def _inside(self, activity: NewActivity, cursor: bytes | None = None) -> Iterator[None]:
        token = here.set(self)
        self._current, self._told = activity, Told(cursor)
        try:
            with unguarded():
                yield
        except Exception:
            self._keep_cursor(activity)  # a call that failed loses nothing of what it told
            raise
        finally:
            self._current = None
            here.reset(token)

    def _keep_cursor(self, activity: NewActivity, progress: Any = None) -> bool:
        """Commit where the working activity stands, if it told; raises LeaseLost."""
        taken = self._told.take()
        if taken is None:
            return False
        cursor, moved_on = taken
        run = self._run
        run.ledger.keep_cursor(
            run.work,
            activity,
            cursor=cursor,
            progress=progress,
            moved_on=moved_on and bool(run.work.crash_count),
            events=run.take_events(),
        )
        return True

    def _boundary(self) -> None:
        """Between two things that happen once: the place to stop without losing any of them."""
        self._run.heart.check()
        if self._run.stopping():
            raise HandBack

    def _once(
        self,
        position: Position,
        kind: str,
        name: str,
        given: Any,
        call: Callable[[], Any],
        used: Callable[[Any], tuple[Any, dict[str, Any]]] | None = None,
        retry: Retry | None = None,
    ) -> Any:
        """The result recorded at a position, else that of `call`, recorded now.

        `used` parts what `call` returned into the result and what it took. An error that `retry`
        tries again lets the thread sleep; without a policy every error is the node's.
        """
        known = self._run.record_at(position)
        if (
            known is not None
            and known.state == "done"
            and deltas.canonical(known.args) == deltas.canonical(given)
        ):
            return deltas.copied(known.result)
        self._boundary()
        if kind == "model" and (why := self._run.ledger.over(self._run.work)):
            raise Halted(why)
        wait_with_others(self._run, retry, name)
        same = known is not None and known.state != "done"
        cursor, with_it = left_by(known, given)
        activity = self._new(
            position,
            kind,
            name,
            given,
            **with_it,
            id=known.id if known is not None and same else None,
            revision=self._run.revision(position, same=same),
            attempts=known.attempts + 1 if known is not None and same else 1,
        )
        self._run.flush_if_many()
        began = time.monotonic()
        usage: dict[str, Any] = {}
        try:
            with self._inside(activity, cursor):
                returned = result_of(call)
            if used is not None:
                returned, usage = used(returned)
            result = plain(returned)
            storable(result, f"What {name!r} returned")
        except MemoryError:
            raise  # there may be none left to write it down with
        except Exception as error:
            self._run.heart.check()
            sleep = again(self._run, retry, name, activity, error)
            self._run.ledger.record(
                self._run.work,
                activity,
                error=describe(error),
                retry_in=None if sleep is None else sleep.seconds,
                usage=usage or None,  # what could not be kept was paid for all the same
                events=self._run.take_events(),
            )
            if sleep is not None:
                raise sleep from error
            raise
        self._run.heart.check()
        took = round((time.monotonic() - began) * 1000)
        if took and kind != "value" and not was_known(usage):
            usage["milliseconds"] = took
        self._run.ledger.record(
            self._run.work,
            activity,
            result=result,
            usage=usage or None,
            events=self._run.take_events(),
        )
        return deltas.copied(result)

    def now(self) -> datetime:
        """The time, recorded: the same after every stop."""
        position = self._position("now")
        seconds = self._once(position, "value", "now", {}, self._run.ledger.clock)
        return datetime.fromtimestamp(seconds, UTC)

    def random(self) -> float:
        """A random number in [0, 1), recorded."""
        return float(self._once(self._position("random"), "value", "random", {}, random.random))

    def uuid(self) -> uuids.UUID:
        """A random id, recorded."""
        made = self._once(self._position("uuid"), "value", "uuid", {}, lambda: str(uuids.uuid4()))
        return uuids.UUID(made)

    def sleep(self, seconds: float) -> None:
        """Let the thread sleep without a worker; it goes on here when the time has come."""
        check_seconds(seconds, "ctx.sleep", needed=True)
        clock = self._run.ledger.clock
        position = self._position("sleep")
        until = self._once(
            position, "value", "sleep", {"seconds": seconds}, lambda: clock() + seconds
        )
        left = until - clock()
        if left > 0:
            raise Asleep(left)
