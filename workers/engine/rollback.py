"""The worker's side of a rollback: effects are taken back under the lease, then the head moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

import structlog

from checkpoints import undo
from checkpoints.errors import GatepostError
from checkpoints.records import Work
from checkpoints.state import marked
from checkpoints.states import EventKind
from checkpoints.store import rollback_checkpoint
from checkpoints.views import ActivityRow

from ..authoring.errors import StepFailed
from ..authoring.frozen import plain
from ..authoring.graph import Tool
from ..authoring.time_limits import within
from ..step.advice import EVENT_BYTES, exact_form
from ..step.answers import describe, result_of
from ..step.ledger import Ledger
from ..step.results import bounded_form, value_of
from ..step.secret_values import what_is_secret
from ..step.step import Agent, Heartbeat
from .between_steps import why_handed_back

log = structlog.get_logger("gatepost.rollback")
# Seconds before the second, the third ... try of an undo that failed; then it needs a person.
PAUSES = (5.0, 30.0)


class UndoMissing(GatepostError):
    """The installed code cannot take this effect back; trying again would not help."""


def roll_back(
    work: Work,
    *,
    agent: Agent,
    ledger: Ledger,
    heartbeat: Heartbeat,
    stopping: Callable[[], bool],
    pauses: Sequence[float] | None = None,
) -> None:
    """Undo the planned effects, last first, then set the head back and leave as the plan says.

    Each undo is logged before and after; one that was done is never done again, one that was
    cut off is finished by the next worker with the same key. One that fails is tried again after
    each of `pauses` (PAUSES), with no worker held and no other undone meanwhile, for order
    matters. Then it is logged as critical and the rest still happen; the thread ends in
    `attention` with the list, its head where it was, and a retry continues with exactly those.
    """
    pauses = PAUSES if pauses is None else pauses
    failures, exempt = ledger.undo_failures(work), agent.graph.secrets_allowed
    undoing = Undoing(work, agent.tools, ledger, pauses, failures, exempt)
    for ident in undoing.plan["undo"]:
        heartbeat.check()
        if stopping():
            ledger.hand_back(work, why_handed_back(work))
            return
        if not undoing.take_back(UUID(ident)):
            return
    undoing.end()


@dataclass
class Undoing:
    """One lease's part in an undo; `failures` as of Ledger.undo_failures."""

    work: Work
    tools: Mapping[str, Tool]
    ledger: Ledger
    pauses: Sequence[float] = ()
    failures: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    exempt: Collection[str] = ()  # paths that the agent lets hold what looks like a credential
    undone: list[str] = field(default_factory=list)
    left: list[tuple[UUID, str]] = field(default_factory=list)
    errors: dict[UUID, Exception] = field(default_factory=dict)

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that the thread carries; raises StepFailed where there is none."""
        if self.work.rollback is None:
            raise StepFailed("There is no plan for this rollback.")
        return self.work.rollback

    def take_back(self, ident: UUID) -> bool:
        """Undo one effect, once; False when the thread was left until the undo is tried again."""
        activity = self.ledger.activity(ident)
        name = undo.named(activity)
        if activity.state == "compensated":
            self.undone.append(name)
            return True
        failed, message = self.failures.get(str(ident), (0, ""))
        if failed > len(self.pauses):
            # A worker before this one has tried as often as it may.
            self.left.append((ident, f"{name} ({message})"))
            return True
        record = partial(self.ledger.compensation, self.work, ident, tool=activity.tool)
        payload = log.bind(thread=str(self.work.thread), activity=str(ident), effect=name)
        tool = self.tools.get(activity.tool)
        call = None if tool is None else tool.undo
        again: float | None = None
        if call is not None:
            record(kind=EventKind.COMPENSATION_STARTED)
        try:
            with within(self.work.token, f"undo of {activity.tool}", None):
                result = self._called(call, activity)
        except Exception as error:
            message, self.errors[ident] = describe(error), error
            if failed < len(self.pauses) and not isinstance(error, UndoMissing):
                again = self.pauses[failed]
                payload.warning("compensation.again", seconds=again, exc_info=True)
            else:
                payload.critical("compensation.failed", error=message, exc_info=True)
            record(kind=EventKind.COMPENSATION_FAILED, error=message, again_in=again)
            if again is None:
                self.left.append((ident, f"{name} ({message})"))
            return again is None
        record(kind=EventKind.COMPENSATION_FINISHED, result=result)
        self.undone.append(name)
        return True

    def _called(self, call: Callable[..., Any] | None, activity: ActivityRow) -> Any:
        """Call the undo of an effect with the one key that it has; its result for the record."""
        if call is None:
            raise UndoMissing("its undo is not installed")
        key, name = f"undo:{activity.idempotency_key}", activity.tool
        came = value_of(activity.result, name, partial(self.ledger.open_artifact, self.work))
        returned = result_of(partial(call, activity.args, came, key=key))
        try:
            result = exact_form(plain(returned), f"What the undo of {name!r} returned")
            why = what_is_secret(marked.readable(result), exempt=self.exempt, of=name)
            if not why:
                keep = partial(self.ledger.artifact, self.work)
                return bounded_form(result, f"undo of {name}", keep, EVENT_BYTES)
            why = f"What the undo returned holds {why}."
        except (StepFailed, TypeError, ValueError) as error:
            why = describe(error)
        # It has happened and is on record as that; only what it returned is not kept.
        return {"withheld": why}

    def end(self) -> None:
        """Leave the thread as its plan says; in `attention`, with the list, if anything is left."""
        plan, work = self.plan, self.work
        if self.left:
            self.ledger.leave(
                work,
                EventKind.THREAD_PARKED,
                reason=f"Not undone: {'; '.join(message for _, message in self.left)}"[
                    : undo.SENTENCE_MAX
                ],
                waiting_on={"kind": "undo", "activities": [str(ident) for ident, _ in self.left]},
            )
            return
        target = self.ledger.target(work)
        # One effect was to be taken back where the thread stands: what its step recorded holds.
        stay = bool(plan.get("stay"))
        branch = {"branch": work.branch, "branch_start": work.branch_start} if stay else {}
        checkpoint = rollback_checkpoint(work, target, created_by=plan["by"], **branch)
        then = plan.get("then", "")
        left_by = ""
        if then == undo.CANCELLED:
            leave_by, left_by = EventKind.THREAD_CANCELLED, plan["by"]
            reason = undo.ended(plan, self.undone)
        elif then == undo.FAILED:
            leave_by, reason = EventKind.THREAD_FAILED, undo.ended(plan, self.undone)
        elif plan.get("run_on"):
            leave_by, reason = EventKind.ROLLBACK_RUN_ON, ""
        else:
            leave_by = EventKind.ROLLBACK_FINISHED
            reason = (
                plan["reason"] if stay else f"Rolled back to step {target.step}: {plan['reason']}"
            )
        self.ledger.commit(work, checkpoint, leave_by=leave_by, reason=reason, left_by=left_by)
