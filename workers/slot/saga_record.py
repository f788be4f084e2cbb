"""The durable side of a SagaManager: its compensations are effects of a thread of the agent `saga`.

While the forward steps continue, the manager's process holds the thread's lease. Dies it, a worker
takes over and undoes what was done; dies it while it is undoing, a worker continues with the rest.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import transaction
from uuid_utils.compat import uuid7

from checkpoints import leases, queries, store, undo
from checkpoints.errors import GatepostError, LeaseLost, NotAllowedNow
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state import deltas
from checkpoints.states import EventKind

from ..authoring.errors import HandBack, StepFailed
from ..authoring.former_names import current_name
from ..authoring.graph import END, Graph, State, Tool
from ..code.registry import announce
from ..engine.rollback import Undoing
from ..node.context import Context
from ..node.records import here
from ..step.answers import describe
from ..step.ledger import DatabaseLedger
from ..step.step import Agent
from .heartbeat import Heartbeat

BOOT = os.urandom(4).hex()
NAME = "saga"
UNDO_MAX, TITLE_MAX = 200, 300
STEP = "saga.step"


class Saga(State):
    """What a saga's thread shows; the work lies elsewhere."""

    title: str = ""


graph = Graph(
    NAME,
    Saga,
    label="Saga",
    description="Work of a SagaManager: steps done in a process of its own, and their undo.",
    on_failure="undo",
    on_code_change="go_on",
)


@graph.node(then=END, label="steps done elsewhere")
def forward(state: Saga, ctx: Context) -> dict[str, Any]:
    """Only ever worked by one who takes over from a process that is gone."""
    raise StepFailed("The process that worked on this saga is gone.")


class UndoRefused(GatepostError):
    """This compensation was not registered here."""


def undo_step(args: Mapping[str, Any], result: Any, *, key: str) -> None:
    """Call the compensation that was registered for a step, with its own arguments.

    One that takes a `key` gets its idempotency key: it may be called again after a crash.
    """
    undo = args["undo"]
    try:
        Signer(salt=NAME).unsign(f"{_digest(key, undo)}:{args['signature']}")
    except BadSignature:
        # What an import brings along shall not choose which code is called.
        raise UndoRefused(
            f"{undo['call']} was registered in another installation; undo it there."
        ) from None
    call, kwargs = resolve(undo["call"]), dict(undo["kwargs"])
    if "key" in inspect.signature(call).parameters and "key" not in kwargs:
        kwargs["key"] = key
    call(*undo["args"], **kwargs)


def _elsewhere(**_args: Any) -> None:
    raise StepFailed("The steps of a saga are done by its own process.")


TOOLS = {STEP: Tool(STEP, _elsewhere, undo_step)}


def installed() -> Agent:
    """The agent of sagas, announced; every worker has it."""
    return announce(graph, TOOLS, [sys.modules[__name__]])


def resolve(name: str) -> Callable[..., Any]:
    """The function that "module:qualname" names."""
    module, _, qualname = name.partition(":")
    result: Any = importlib.import_module(current_name(module))
    for part in qualname.split("."):
        result = getattr(result, part)
    call: Callable[..., Any] = result
    return call


def as_data(
    call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """A call as JSON that another process can make, or None where it cannot be said so."""
    module, qualname = getattr(call, "__module__", ""), getattr(call, "__qualname__", "")
    if not isinstance(module, str) or module in ("", "__main__") or not isinstance(qualname, str):
        return None
    name = f"{module}:{qualname}"
    results = {"call": name, "args": list(args), "kwargs": dict(kwargs)}
    try:
        deltas.check(results)
        same = deltas.decode(deltas.canonical(results).decode()) == results
        return results if same and resolve(name) is call else None
    except (AttributeError, ImportError, ValueError, TypeError, GatepostError):
        return None


def _digest(key: str, values: Mapping[str, Any]) -> str:
    text = key.removeprefix("undo:").encode() + deltas.canonical(dict(values))
    return hashlib.sha256(text).hexdigest()


def owner() -> str:
    """The name under which the manager holds leases: host, process and boot of its process."""
    return f"saga:{socket.gethostname()}:{os.getpid()}:{BOOT}"


@dataclass
class Record:
    """The thread of one saga, and this process's lease on it."""

    thread: UUID
    workspace: UUID
    ledger: DatabaseLedger = field(default_factory=DatabaseLedger)
    work: Work | None = None
    heartbeat: Heartbeat | None = None
    steps: int = 0
    undoing: Undoing | None = None
    away: Exception | None = None

    @classmethod
    def begin(cls, title: str, workspace: UUID | None) -> Record:
        """A new thread, leased by this process before any worker sees it."""
        agent = installed()
        context = here.get()
        parent = None if context is None else context.thread_id
        if workspace is None and context is not None:
            workspace = context._step.work.workspace  # noqa: SLF001 - not for authors
        workspace = workspace or queries.default_workspace()
        with transaction.atomic():
            thread = store.start(
                agent.version_id,
                input={"title": title},
                workspace=workspace,
                actor=owner(),
                title=title[:TITLE_MAX],
                parent=parent,
            )
            record = cls(thread, workspace)
            record._lease()
        record._beat()
        return record

    def take(self) -> None:
        """Hold the lease again, where the thread was left waiting for more steps."""
        if self.work is None:
            with transaction.atomic():
                store.resume(self.thread, actor=owner())
                self._lease()
            self._beat()

    def started(self, name: str, values: dict[str, Any]) -> NewActivity:
        """Commit that a step begins whose undo is `given`; raises LeaseLost."""
        work = self._held()
        position = Position(work.branch, work.step + 1, "forward", 0, f"{name[:150]}#{self.steps}")
        self.steps += 1
        location = [str(work.chain_id), position.branch, position.step, position.key]
        key = hashlib.sha256(deltas.canonical(location)).hexdigest()
        signed = Signer(salt=NAME).signature(_digest(key, values))
        activity = NewActivity(
            id=uuid7(),
            position=position,
            kind="effect",
            tool=STEP,
            args={"step": name, "undo": values, "signature": signed},
            idempotency_key=key,
            undo=values["call"][-UNDO_MAX:],
        )
        try:
            self.ledger.begin_effect(work, activity, [])
        except HandBack:
            raise NotAllowedNow("A breaker stops this saga; it undoes what it did.") from None
        return activity

    def ended(self, activity: NewActivity, error: Exception | None = None) -> None:
        """Commit how the step ended: only one that was done has something to undo."""
        self.ledger.end_effect(
            self._held(),
            activity,
            state="done" if error is None else "failed",
            error="" if error is None else describe(error),
        )

    def leave(self, by: EventKind, reason: str = "") -> None:
        """All steps are done, or more may follow."""
        self.ledger.leave(self._held(), by, reason=reason)
        self._rest()

    def begin_undo(self, idents: Sequence[UUID], reason: str) -> None:
        """-> rolling_back under this process's lease; `idents` last first.

        Raises ConcurrentModificationError where a worker has taken the thread over: it undoes.
        """
        self.away = None
        target = queries.checkpoint_by_number(self.thread, 0)
        taken = set(idents)
        others = [f for f in queries.effects_of(self.thread) if f.activity.id not in taken]
        plan = undo.plan(
            target=target.id,
            number=0,
            step=0,
            undo=idents,
            reason=reason,
            by=owner(),
            then=undo.FAILED,
            stays=undo.staying(others),
        )
        work = self.work
        self._rest()
        with transaction.atomic():
            if work is None:
                row = queries.thread(self.thread, workspace=self.workspace)
                store.take_back(self.thread, plan=plan, head=row.head)
            else:
                store.fail_and_undo(work, plan)
            self._lease()
        self._beat()
        self.undoing = Undoing(self._held(), TOOLS, self.ledger)

    def finish_undo(self) -> None:
        """Leave the thread as failed, or in attention with what could not be undone."""
        if self.undoing is not None:
            self.undoing.end()
        self.abandon()

    def abandon(self) -> None:
        """Let the lease run out, if it is still held."""
        self.undoing = None
        self._rest()

    def _held(self) -> Work:
        if self.work is None or self.heartbeat is None:
            raise LeaseLost(thread=self.thread)
        self.heartbeat.check()
        return self.work

    def _lease(self) -> None:
        self.work = leases.acquire(self.thread, owner=owner())
        if self.work is None:
            raise LeaseLost(thread=self.thread)

    def _beat(self) -> None:
        if self.work is not None:
            # Only now: a transaction that is still open hides the lease from the heartbeat.
            self.heartbeat = Heartbeat(self.thread, self.work.token).__enter__()

    def _rest(self) -> None:
        if self.heartbeat is not None:
            self.heartbeat.__exit__()
        self.work = self.heartbeat = None
