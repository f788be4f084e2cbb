"""Digests of heads that this process has committed lately, for the step that is built upon them.

A worker keeps the digests of its thread from step to step. Who reports over HTTP keeps nothing here
between two calls, and an object that members join would be read and hashed whole for each of them.
What a state hashes to never changes, so a copy under its checkpoint is right for good.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from checkpoints.state.digests import Digests

# Channels and members of objects that are remembered of all threads together, some 250 bytes each.
WEIGHT_MAX: Final = 100_000

_lock = threading.Lock()
_recent: OrderedDict[tuple[UUID, UUID], tuple[Digests, int]] = OrderedDict()
_weight = 0


def remember(thread: UUID, checkpoint: UUID, digests: Digests) -> None:
    """Keep the digests of a committed checkpoint; the oldest ones go beyond WEIGHT_MAX."""
    global _weight
    take(thread, checkpoint)
    with _lock:
        weight = digests.weight
        _recent[thread, checkpoint] = digests, weight
        _weight += weight
        while _weight > WEIGHT_MAX:
            _, (_, forgotten) = _recent.popitem(last=False)
            _weight -= forgotten


def take(thread: UUID, checkpoint: UUID) -> Digests | None:
    """The digests of a checkpoint, once: the caller that builds upon them changes them."""
    global _weight
    with _lock:
        digests, weight = _recent.pop((thread, checkpoint), (None, 0))
        _weight -= weight
    return digests
