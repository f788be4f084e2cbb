"""What an undo takes back, as a thread carries it while it is rolling back; pure.

A plan names the checkpoint to go back to and the effects to compensate, last first. `then` says
how the thread ends afterwards: "failed", "cancelled", or empty where it pauses (or runs on).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal
from uuid import UUID

from .views import ActivityRow, CheckpointRow, EffectFate

Then = Literal["", "failed", "cancelled"]
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
SENTENCE_MAX = 2_000
WITHDRAWN_ON_FAILURE: Final = "The thread failed; what it did is undone."


def plan(
    *,
    target: UUID,
    number: int,
    step: int,
    undo: Iterable[UUID],
    reason: str,
    by: str,
    run_on: bool = False,
    then: Then = "",
    stays: Sequence[str] = (),
) -> dict[str, Any]:
    """The plan as data; `stays` names what happened and is not taken back."""
    results: dict[str, Any] = {
        "target": str(target),
        "number": number,
        "step": step,
        "undo": [str(a) for a in undo],
        "reason": reason,
        "run_on": run_on,
        "by": by,
    }
    return results | ({"then": then, "stays": list(stays)} if then else {})


def version(plan: dict[str, Any]) -> int:
    """The form of the event that records a plan; since 2 it may say how the thread ends."""
    return 2 if "then" in plan else 1


def plan_back_to(
    target: CheckpointRow,
    fates: Sequence[EffectFate],
    *,
    reason: str,
    by: str,
    then: Then,
    unknown: bool = False,
    left: Sequence[EffectFate] = (),
) -> dict[str, Any]:
    """The plan of an undo that ends the thread, from all effects on its way.

    `left` happened on branches that rollbacks have left: none of them is taken back.
    """
    return plan(
        target=target.id,
        number=target.number,
        step=target.step,
        undo=[f.activity.id for f in chosen(fates, unknown=unknown)],
        reason=reason,
        by=by,
        then=then,
        stays=[
            *staying(fates, unknown=unknown),
            *(f"{named(f.activity)} ({f.text})" for f in left),
        ],
    )


def chosen(fates: Iterable[EffectFate], *, unknown: bool = False) -> list[EffectFate]:
    """Those that are taken back; with `unknown` also what may have happened and has an undo."""
    return [
        f
        for f in fates
        if f.fate == "undoable" or (unknown and f.fate == "unknown" and f.activity.undo)
    ]


def staying(fates: Sequence[EffectFate], *, unknown: bool = False) -> list[str]:
    """Describe the effects that are not undone, and why, last first."""
    taken = {f.activity.id for f in chosen(fates, unknown=unknown)}
    why = {"stays": "cannot be undone", "unknown": "nobody knows whether it happened"}
    return [
        f"{named(f.activity)} ({why.get(f.fate, f.text)})"
        for f in fates
        if f.activity.id not in taken
    ]


def named(activity: ActivityRow) -> str:
    """An effect as people read of it."""
    return f"{activity.tool} of step {activity.step}"


def ended(plan: dict[str, Any], undone: Sequence[str]) -> str:
    """The sentence with which a thread ends after its undo."""
    messages = [plan["reason"].rstrip(". ") + "." if plan["reason"] else ""]
    messages.append(f"Undone: {', '.join(undone)}." if undone else "")
    messages.append(f"Not undone: {', '.join(plan['stays'])}." if plan.get("stays") else "")
    return " ".join(s for s in messages if s)[:SENTENCE_MAX]
