"""Work ahead of one commit: while the server writes step N, the nodes of step N+1 work already.

Nobody may see anything of step N+1 before the answer to N is known. So all that leads from it to
anybody is behind a door here, and each door waits for that answer first: `Awaiting` stands before
the ledger, `Doorstep` before what a node's context reaches, `settled_if_left` around the node for
the ways out that are errors. A node that works ahead and asks nobody anything passes no door.

Each door may find that step N+1 must not be: the lease is lost, the connection broke, the database
refused the value (`Unrecorded`), or the answer brings news that is obeyed before the next step
(`Overtaken`). What was worked ahead is then forgotten. ADR 31 has the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from checkpoints import keyframes
from checkpoints.records import Work
from checkpoints.states import Status
from checkpoints.store import NewCheckpoint

from .errors import Stop
from .guard import unguarded
from .ledger import DatabaseLedger
from .loops import beside_a_loop
from .step import OpenStep
from .unrecorded import Unrecorded

if TYPE_CHECKING:
    from checkpoints.store.awaited import AwaitedStep

# A node that took longer than this the last time waits for the answer before it begins.
QUICK_SECONDS = 0.001
_PLAIN = nullcontext()


class Overtaken(Stop):
    """The answer to the commit before brings what is obeyed first; this step has not begun."""


class Awaiting:
    """A ledger with at most one commit under way; every call but `commit` waits for its answer.

    `news` says whether the thread, as the answer shows it, may not take its next step just so.
    """

    def __init__(self, ledger: DatabaseLedger) -> None:
        self.news: Callable[[], bool] = lambda: False
        self._ledger = ledger
        self._sent: AwaitedStep | None = None
        self._error: Exception | None = None
        # The step under way, while the one after it is being worked.
        self.before: NewCheckpoint | None = None
        self._ahead = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.settle()
            return found(*args, **kwargs)

        self.__dict__[name] = call
        return call

    @property
    def under_way(self) -> bool:
        """Whether a commit's answer is still to be read."""
        return self._sent is not None

    def begin(self) -> None:
        """The next step is begun before the answer is known; until it is, doors may forget it."""
        self._ahead = True

    def commit(self, work: Work, checkpoint: NewCheckpoint, **more: Any) -> None:
        """Commit in the ordinary way, once what is under way is settled."""
        self.settle()
        self._ledger.commit(work, checkpoint, **more)

    def commit_ahead(self, work: Work, checkpoint: NewCheckpoint, **more: Any) -> None:
        """Send a step's commit once the one before is settled; prepared while that is under way.

        In the ordinary way where it cannot be sent, and where a keyframe is due after it.
        """
        # Here: a harness has no driver.
        from checkpoints.store import awaited as sender

        former = self.before if self._sent is not None else None
        if former is not None:
            more["head"] = former.id
        try:
            ready = sender.prepare(work, checkpoint, **more)
        finally:
            self.settle()
        weight, rows = work.unfolded + ready.weight, work.unfolded_rows + 1
        if not keyframes.due(weight, rows, checkpoint.state_bytes):
            self._sent = sender.send(work, ready)
        if self._sent is None:
            sender.commit_prepared(work, ready)
        else:
            self.before = checkpoint

    def settle(self) -> None:
        """Know the answer to what is under way. Raises Unrecorded, Overtaken."""
        if self._sent is None:
            if self._error is not None:  # an author's code has swallowed it
                raise Unrecorded(self._error)
            return
        sent, self._sent = self._sent, None
        ahead, self._ahead = self._ahead, False
        try:
            sent.settle()
        except Exception as error:
            self._error = error
            raise Unrecorded(error) from error
        if ahead and self.news():
            raise Overtaken

    def close(self) -> None:
        """Leave nothing under way behind; whatever ends the work says why it does."""
        self._ahead = False
        if self._sent is not None:
            try:
                self.settle()
            except Unrecorded:
                pass


class Doorstep:
    """An open step as the context of a node that works ahead reaches it: not before the answer."""

    __slots__ = ("_awaiting", "_run", "touched")

    def __init__(self, run: OpenStep, awaiting: Awaiting) -> None:
        self._run = run
        self._awaiting = awaiting
        self.touched = False

    def __getattr__(self, name: str) -> Any:
        if self._awaiting.under_way:
            self.touched = True
            with unguarded():
                beside_a_loop(self._awaiting.settle)
            self._run.woken = self._run.work.wake_seq
        return getattr(self._run, name)


class settled_if_left:
    """Around a node that works ahead: an error or a stop of it is met once the answer is known.

    What ends the process does so at once.
    """

    __slots__ = ("_awaiting",)

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if kind is not None and issubclass(kind, (Exception, Stop)):
            self._awaiting.settle()


def reach(
    run: OpenStep, awaiting: Awaiting | None
) -> tuple[OpenStep, AbstractContextManager[object]]:
    """(what the context of a node reaches of its step, what surrounds the node)."""
    if awaiting is None or run.after is None or not awaiting.under_way:
        return run, _PLAIN
    return cast(OpenStep, Doorstep(run, awaiting)), settled_if_left(awaiting)


def awaiting(ledger: object, work: Work) -> Awaiting | None:
    """The ledger for work ahead; None where it is not to be had."""
    if not isinstance(ledger, DatabaseLedger) or work.status is not Status.RUNNING:
        return None
    return Awaiting(ledger)
