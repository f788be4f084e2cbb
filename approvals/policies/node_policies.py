"""A memory, for a second, of which workspaces have policies about nodes."""

from __future__ import annotations

import time
from typing import Final
from uuid import UUID

from . import queries

SECONDS: Final = 1.0
WORKSPACES_MAX: Final = 1_000
_known: dict[UUID, tuple[float, bool]] = {}


def exist(workspace: UUID) -> bool:
    """Tell whether one may be active; changes by other processes show after SECONDS."""
    until, answer = _known.get(workspace, (0.0, False))
    if time.monotonic() < until:
        return answer
    if len(_known) >= WORKSPACES_MAX:
        _known.clear()
    answer = queries.any_about(workspace, "node")
    _known[workspace] = (time.monotonic() + SECONDS, answer)
    return answer


def forget() -> None:
    """Look anew: this process has changed a policy."""
    _known.clear()
