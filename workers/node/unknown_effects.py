"""Effects on which the engine does not judge alone: lost on the way, or asked with other arguments.

What people answered stands in the record or in an `effect.settled` event; while there is no answer
the thread waits in `attention`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from checkpoints.state import deltas
from checkpoints.verdicts import Verdict, about_args, about_unknown, args_hash
from checkpoints.views import ActivityRow

from ..authoring.errors import Parked
from ..authoring.graph import Tool

if TYPE_CHECKING:
    from ..step.step import OpenStep


NEVER_SETTLED: Final = "it began, and nobody settled it"


def unknown_outcome(tool: str, activity: UUID, error: str = "") -> Parked:
    """The stop of a thread of whose effect nobody knows whether it happened."""
    why = f": {error}" if error else ""
    return Parked(
        f"Whether {tool!r} happened is unknown{why}. Check outside, then say what happened.",
        about_unknown(activity),
    )


class Continuation(Enum):
    """The ways in which an effect with a record continues.

    ANSWER: from the record. REPEAT: the same attempt once more, with the same key. AGAIN: anew,
    behind its gate, as a new revision with a key of its own.
    """

    ANSWER = auto()
    REPEAT = auto()
    AGAIN = auto()


def continuation_of(step: OpenStep, tool: Tool, known: ActivityRow, value: Any) -> Continuation:
    """Choose how a recorded effect continues when it is called with `value`; raises Parked."""
    if known.kind != "effect":
        # What was once an activity here, or the record of a tool that acts once.
        return Continuation.ANSWER if known.kind == "value" and tool.once else Continuation.AGAIN
    same = deltas.canonical(known.args) == deltas.canonical(value)
    if known.state == "unknown" or (known.state == "started" and not (tool.idempotent and same)):
        if known.state == "started":
            step.ledger.lost(step.work, known.id)
        raise Parked(
            f"Whether {tool.name!r} happened is unknown: the worker was lost between its "
            f"start and its end, {_why(tool)}. Check outside, then say what happened.",
            about_unknown(known.id),
        )
    if known.state == "compensated":
        return Continuation.AGAIN
    if same:
        return Continuation.ANSWER if known.state == "done" else Continuation.REPEAT
    return _other_arguments(step, tool, known, value)


def _other_arguments(step: OpenStep, tool: Tool, known: ActivityRow, value: Any) -> Continuation:
    verdict, about = step.ledger.settled(step.work, known.id) or ("", "")
    if verdict == Verdict.NOT_HAPPENED and known.state == "failed":
        return Continuation.AGAIN
    # An answer holds for the arguments that were shown with the question, and no others.
    if about == args_hash(value):
        if verdict == Verdict.KEEP and known.state == "done":
            return Continuation.ANSWER
        if verdict == Verdict.AGAIN:
            return Continuation.AGAIN
    done = "happened" if known.state == "done" else "was tried"
    raise Parked(
        f"{tool.name!r} {done} here with other arguments than it is asked with now. Compare them, "
        "then say what holds.",
        about_args(known.id, value, once=tool.once),
    )


def _why(tool: Tool) -> str:
    if tool.idempotent:
        return "and it is asked with other arguments now"
    return "and the tool does not promise to be repeatable"
