"""When a keyframe is due; pure.

Reading a state folds the newest keyframe on the way and all deltas after it. Rule: a keyframe is
written once the deltas since the last one weigh as much as the state itself. Then all keyframes of
a thread together weigh no more than its deltas do, so storage stays linear in what the agent adds
(copies at fixed distances are quadratic), and a read folds at most about twice the state.
"""

from __future__ import annotations

# What a row costs a reader beyond its bytes, and what continuing in another branch or thread costs,
# in bytes that could be read in that time.
ROW = 32
RANGE = 4_096
# Below this a keyframe saves nothing worth a write: small states are folded from many deltas.
FLOOR = 64 * 1024
# A fork that nobody works on yet is given a keyframe when it is read through this many branches.
RANGES = 8


def weight(size: int, rows: int = 1, ranges: int = 1) -> int:
    """Weigh deltas of `size` bytes in these rows, read from these branches."""
    return size + ROW * rows + RANGE * max(ranges - 1, 0)


def due(unfolded: int, rows: int, state_bytes: int) -> bool:
    """Answer True if a keyframe of this size is due, by weight and rows since the last one.

    A single delta may be the whole state: storing it a second time would be of no use.
    """
    return rows >= 2 and unfolded >= max(state_bytes, FLOOR)
