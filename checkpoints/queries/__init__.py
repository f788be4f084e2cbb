"""The only reader for upper floors: frozen dataclasses from short, indexed statements.

Lists page by keyset written as a row comparison, never by OFFSET.
"""

from .activities import activities, activity, effects_after, step_activities
from .fleet import (
    WORKER_ALIVE_SECONDS,
    agent,
    agent_version,
    agents,
    artifact,
    default_workspace,
    memberships,
    workers,
)
from .log import (
    event_nouns,
    event_of_checkpoint,
    events,
    events_after,
    recent_events,
    recorded_thoughts,
)
from .past import checkpoint, checkpoint_by_number, checkpoints, diff, lineage, state_at, way
from .threads import (
    COUNT_CAP,
    MOVING,
    STANDSTILL_SECONDS,
    board_mark,
    children,
    counts,
    in_workspace,
    lanes,
    thread,
    thread_marks,
    threads,
    titles,
)

__all__ = [
    "COUNT_CAP",
    "MOVING",
    "STANDSTILL_SECONDS",
    "WORKER_ALIVE_SECONDS",
    "activities",
    "activity",
    "agent",
    "agent_version",
    "agents",
    "artifact",
    "board_mark",
    "checkpoint",
    "checkpoint_by_number",
    "checkpoints",
    "children",
    "counts",
    "default_workspace",
    "diff",
    "effects_after",
    "event_nouns",
    "event_of_checkpoint",
    "events",
    "events_after",
    "in_workspace",
    "lanes",
    "lineage",
    "memberships",
    "recent_events",
    "recorded_thoughts",
    "state_at",
    "step_activities",
    "thread",
    "thread_marks",
    "threads",
    "titles",
    "way",
    "workers",
]
