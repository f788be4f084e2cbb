"""The kinds of events that auditors ask for across threads, each list with an index over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from checkpoints.states import EventKind

_NOUNS_OF_DECISIONS: Final = ("approval", "decision", "operation")
# What people decided, and the outcome.
DECISIONS: Final = tuple(
    str(kind) for kind in EventKind if kind.partition(".")[0] in _NOUNS_OF_DECISIONS
)
# What agents did to the outside world, and what was taken back of it; they name the effect.
EFFECTS: Final = tuple(
    str(kind) for kind in EventKind if kind.partition(".")[0] in ("effect", "compensation")
)
# Events that belong to a request, or to an effect that may have had none.
OF_REQUESTS: Final = (*DECISIONS, *EFFECTS)
_OTHERS: Final = (
    EventKind.THREAD_STARTED,
    EventKind.THREAD_FORKED,
    EventKind.THREAD_PAUSED,
    EventKind.THREAD_RESUMED,
    EventKind.THREAD_RETRIED,
    EventKind.THREAD_SUCCEEDED,
    EventKind.THREAD_FAILED,
    EventKind.THREAD_CANCELLED,
    EventKind.THREAD_PARKED,
    EventKind.THREAD_IMPORTED,
    EventKind.THREAD_HANDED_OFF,
    EventKind.STATE_EDITED,
    EventKind.ROLLBACK_STARTED,
    EventKind.ROLLBACK_RETRIED,
    EventKind.ROLLBACK_FINISHED,
    EventKind.ROLLBACK_RUN_ON,
    EventKind.INPUT_RECEIVED,
    EventKind.SIGNAL_RECEIVED,
    *EFFECTS,
    EventKind.PAUSE_REQUESTED,
    EventKind.CODE_CHANGED,
    EventKind.CODE_PINNED,
    EventKind.CODE_UNPINNED,
    EventKind.CHECKPOINT_SKIPPED,
    EventKind.NODE_SKIPPED,
)
# What people did, what agents did to the outside world, and how threads ended: all but the steps.
NOTABLE: Final = (*DECISIONS, *map(str, _OTHERS))


def literal(kinds: Iterable[str]) -> str:
    """Kinds as they stand in SQL: the planner takes a partial index only for constants."""
    return ", ".join(f"'{kind}'" for kind in kinds)
