"""A memory, for a second, of which workspaces have active policies, about nodes, and that block."""

from __future__ import annotations

import time
from typing import Final
from uuid import UUID

from . import queries

SECONDS: Final = 1.0
WORKSPACES_MAX: Final = 1_000
# By the workspace's integer: a UUID computes its hash in Python, and each step asks.
_known: dict[int, tuple[float, tuple[bool, bool, bool]]] = {}


def exist(workspace: UUID) -> bool:
    """Return whether one about nodes may be active; changes elsewhere show after SECONDS."""
    return _read(workspace)[1]


def any_exist(workspace: UUID) -> bool:
    """Return whether any policy may be active; changes elsewhere show after SECONDS."""
    return _read(workspace)[0]


def any_block(workspace: UUID) -> bool:
    """Return whether one that blocks may be active; changes elsewhere show after SECONDS."""
    return _read(workspace)[2]


def _read(workspace: UUID) -> tuple[bool, bool, bool]:
    until, answer = _known.get(workspace.int, (0.0, (False, False, False)))
    if time.monotonic() < until:
        return answer
    if len(_known) >= WORKSPACES_MAX:
        _known.clear()
    answer = queries.any_active(workspace)
    _known[workspace.int] = (time.monotonic() + SECONDS, answer)
    return answer


def forget() -> None:
    """Look anew: this process has changed a policy."""
    _known.clear()
