"""Shares of the lanes of a board in its rows."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints.states import Status

ROWS = 30  # on the whole board, so that a page stays small however many threads there are
LEAST = 3  # of each lane
FAIR = 10  # of each lane, before one gets more


def shares(
    sizes: Mapping[Status, int], rows: int = ROWS, least: int = LEAST, fair: int = FAIR
) -> dict[Status, int]:
    """Share rows among the lanes: `least` for all, then up to `fair` in order, then the rest."""
    value = dict.fromkeys(sizes, 0)
    left = rows
    for most in (least, fair, rows):
        for status, n in sizes.items():
            more = max(min(n, most) - value[status], 0)
            more = more if most == least else min(more, max(left, 0))
            value[status] += more
            left -= more
    return value
