"""The worker's side of a rollback: effects are taken back under the lease, then the head moves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

import structlog

from checkpoints.records import Work
from checkpoints.states import EventKind
from checkpoints.store import next_checkpoint

from .advice import storable
from .answers import describe, result_of
from .errors import StepFailed
from .frozen import plain
from .ledger import Ledger
from .step import Agent, Heart
from .timelimit import within

log = structlog.get_logger("gatepost.rollback")


def roll_back(
    work: Work,
    *,
    agent: Agent,
    ledger: Ledger,
    heart: Heart,
    stopping: Callable[[], bool],
) -> None:
    """Undo the planned effects, last first, then set the head back: rolling_back -> paused.

    Each undo is logged before and after; one that was done is never done again, one that was
    cut off is finished by the next worker with the same key. A failing undo is logged and the
    rest still happen; the thread then ends in `attention` with the list.
    """
    plan = work.rollback
    if plan is None:
        raise StepFailed("There is no plan for this rollback.")
    failed: list[str] = []
    for ident in plan["undo"]:
        heart.check()
        if stopping():
            ledger.hand_back(work, "the worker stops")
            return
        problem = _undo(work, UUID(ident), agent, ledger)
        if problem:
            failed.append(problem)
    target = ledger.target(work)
    # One effect was to be taken back where the thread stands: what else its step recorded holds.
    stay = bool(plan.get("stay"))
    checkpoint = next_checkpoint(
        work,
        source="rollback",
        delta={},
        # The target's own state once more, by whatever code it was written.
        state_hash=bytes.fromhex(target.state_hash),
        state_bytes=target.state_bytes,
        schema_version=target.schema_version,
        agent_version=target.agent_version_id,
        step=target.step,
        branch=work.branch if stay else work.branch + 1,
        branch_start=work.branch_start if stay else work.number + 1,
        parent=target.id,
        parent_number=target.number,
        next_nodes=target.next_nodes,
        created_by=plan["by"],
    )
    if failed:
        leave_by, reason = EventKind.THREAD_PARKED, "Not undone: " + "; ".join(failed)
    elif plan.get("run_on"):
        leave_by, reason = EventKind.ROLLBACK_RUN_ON, ""
    else:
        leave_by = EventKind.ROLLBACK_FINISHED
        reason = plan["reason"] if stay else f"Rolled back to step {target.step}: {plan['reason']}"
    ledger.commit(work, checkpoint, leave_by=leave_by, reason=reason)


def _undo(work: Work, ident: UUID, agent: Agent, ledger: Ledger) -> str:
    """Take one effect back; what went wrong, or an empty string."""
    activity = ledger.activity(ident)
    if activity.state == "compensated":
        return ""
    tool = agent.tools.get(activity.tool)
    name = f"{activity.tool} of step {activity.step}"
    tell = partial(ledger.compensation, work, ident, tool=activity.tool)
    if tool is None or tool.undo is None:
        tell(kind=EventKind.COMPENSATION_FAILED, error="its undo is not installed")
        log.critical("compensation.failed", thread=str(work.thread), activity=str(ident))
        return f"{name} (its undo is not installed)"
    tell(kind=EventKind.COMPENSATION_STARTED)
    try:
        key = f"undo:{activity.idempotency_key}"
        with within(work.token, f"undo of {activity.tool}", None):
            result = plain(result_of(partial(tool.undo, activity.args, activity.result, key=key)))
        storable(result, f"What the undo of {activity.tool!r} returned")
    except Exception as error:
        log.critical(
            "compensation.failed",
            thread=str(work.thread),
            activity=str(ident),
            exc_info=True,
        )
        tell(kind=EventKind.COMPENSATION_FAILED, error=describe(error))
        return f"{name} ({describe(error)})"
    tell(kind=EventKind.COMPENSATION_FINISHED, result=result)
    return ""
