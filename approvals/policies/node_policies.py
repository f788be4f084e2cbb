"""A memory, for a second, of which workspaces have active policies, and which about nodes."""

from __future__ import annotations

import time
from typing import Final, Literal
from uuid import UUID

from . import queries

type Word = Literal["node", ""]

SECONDS: Final = 1.0
WORKSPACES_MAX: Final = 1_000
_known: dict[tuple[UUID, Word], tuple[float, bool]] = {}


def exist(workspace: UUID) -> bool:
    """Tell whether one about nodes may be active; changes elsewhere show after SECONDS."""
    return _exist(workspace, "node")


def any_exist(workspace: UUID) -> bool:
    """Tell whether any policy may be active; changes elsewhere show after SECONDS."""
    return _exist(workspace, "")


def _exist(workspace: UUID, word: Word) -> bool:
    until, answer = _known.get((workspace, word), (0.0, False))
    if time.monotonic() < until:
        return answer
    if len(_known) >= WORKSPACES_MAX:
        _known.clear()
    answer = queries.any_about(workspace, word)
    _known[workspace, word] = (time.monotonic() + SECONDS, answer)
    return answer


def forget() -> None:
    """Look anew: this process has changed a policy."""
    _known.clear()
