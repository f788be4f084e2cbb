"""What people can say of an effect on which the engine does not judge alone; pure.

A thread in `attention` asks in its `waiting_on`: `{"kind": "unknown", "activity": id}` whether an
effect happened, `{"kind": "effect", "activity": id, "args": ..., "args_hash": hex}` what holds for
one that is recorded with other arguments than it is asked with now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from .state import deltas
from .states import Status

# More of the new arguments is not kept beside the question; a hash binds the answer in any case.
ARGS_SHOWN_BYTES: Final = 64 * 1024


class Verdict(StrEnum):
    """An answer of a person."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    UNDO = "undo"
    KEEP = "keep"
    AGAIN = "again"
    UNDO_AGAIN = "undo_again"


# What each leads to, as one reads it after "an operator said".
MEANING: Final[dict[Verdict, str]] = {
    Verdict.HAPPENED: "it happened",
    Verdict.NOT_HAPPENED: "it did not happen",
    Verdict.UNDO: "undo it",
    Verdict.KEEP: "keep the outcome",
    Verdict.AGAIN: "do it again",
    Verdict.UNDO_AGAIN: "undo it and do it again",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a thread about one effect. `kind` is unknown or effect (other arguments).

    `args` are the new ones, None where they are too large to be shown; `once` that the tool never
    acts twice.
    """

    kind: str
    activity: UUID
    args_hash: str = ""
    args: Any = None
    once: bool = False

    def choices(self, state: str, undo: str) -> tuple[Verdict, ...]:
        """The possible answers, for an effect in this state with this undo (empty: none)."""
        if self.kind == "unknown":
            results = [Verdict.HAPPENED, Verdict.NOT_HAPPENED]
            return (*results, Verdict.UNDO) if undo else tuple(results)
        bound = bool(self.args_hash)
        offered = {
            Verdict.KEEP: bound and state == "done",
            Verdict.UNDO_AGAIN: bool(undo) and state == "done",
            Verdict.AGAIN: bound and not (self.once and state == "done"),
        }
        return tuple(verdict for verdict, possible in offered.items() if possible)


def question_of(status: str, waiting_on: Any) -> Question | None:
    """The thread's open question; None when it has none of this sort."""
    if status != Status.ATTENTION or not isinstance(waiting_on, Mapping):
        return None
    if waiting_on.get("kind") not in ("unknown", "effect"):
        return None
    try:
        activity = UUID(str(waiting_on.get("activity")))
    except ValueError:
        return None
    return Question(
        kind=str(waiting_on["kind"]),
        activity=activity,
        args_hash=str(waiting_on.get("args_hash") or ""),
        args=waiting_on.get("args"),
        once=bool(waiting_on.get("once")),
    )


def args_hash(args: Any) -> str:
    """Hash the arguments, to bind an answer to those that were shown: hex sha256."""
    return sha256(deltas.canonical(args)).hexdigest()


def about_unknown(activity: UUID) -> dict[str, Any]:
    """The question whether an effect happened."""
    return {"kind": "unknown", "activity": str(activity)}


def about_args(activity: UUID, args: Any, *, once: bool) -> dict[str, Any]:
    """The question what holds for other arguments."""
    query = {"kind": "effect", "activity": str(activity), "args_hash": args_hash(args)}
    if len(deltas.canonical(args)) <= ARGS_SHOWN_BYTES:
        query["args"] = args
    return query | ({"once": True} if once else {})


def plan_of_undo(
    verdict: Verdict,
    activity: UUID,
    *,
    head: UUID,
    number: int,
    step: int,
    tool: str,
    reason: str,
    actor: str,
) -> dict[str, Any]:
    """A rollback that takes one effect back and stays where it is, in its branch and step."""
    again = verdict is Verdict.UNDO_AGAIN
    message = f"{tool!r} is undone" + (f": {reason}" if reason else ".")
    return {
        "target": str(head),
        "number": number,
        "step": step,
        "undo": [str(activity)],
        "reason": message if again else f"{message.rstrip('.')}. Resuming does it again.",
        "run_on": again,
        "by": actor,
        "stay": True,
    }
