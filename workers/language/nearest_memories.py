"""The memories that are nearest to a question in meaning, and why there are none."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from checkpoints import queries
from checkpoints.postgres import pooled
from checkpoints.queries import Reach
from checkpoints.vectors import configured
from checkpoints.vectors.stores import Search, VectorsAway, owner_text

from .embeddings import NotEmbedded, embed, model_name

log = structlog.get_logger("gatepost.memory")
# A question waits so long for its vector; after a failure none is asked for a while.
SECONDS: Final = 3.0
PAUSE_SECONDS: Final = 30.0
NEAREST: Final = 100


@dataclass(frozen=True, slots=True)
class Nearest:
    """(memory, revision) of the nearest; `why` says why they were not looked for."""

    refs: tuple[tuple[UUID, int], ...] = ()
    why: str = ""


NOTHING: Final = Nearest()
_failed: dict[str, tuple[float, str]] = {}
_lock = threading.Lock()


def near_thread(query: str, reach: Reach) -> tuple[tuple[tuple[UUID, int], ...], str]:
    """(memories that a thread can read, the nearest first; why they were not looked for).

    No reason where no model is configured: nobody expects them.
    """
    if not model_name():
        return (), ""
    owners = [owner_text(scope, owner) for scope, owner in queries.places(reach)]
    result = nearest(query, workspace=reach.workspace, owners=owners, kinds=reach.kinds)
    return result.refs, result.why


def nearest(
    query: str,
    *,
    workspace: UUID,
    owners: Collection[str] | None = None,
    kinds: Collection[str] | None = None,
) -> Nearest:
    """Look for memories near to a question; none, with the reason, where a server is away."""
    model = model_name()
    if not model or not query.strip():
        return NOTHING
    with _lock:
        until, why = _failed.get(model, (0.0, ""))
    if time.monotonic() < until:
        return Nearest(why=why)
    pooled.give_back()
    try:
        (vector,) = embed([query], seconds=SECONDS)
        search = Search(workspace, vector, NEAREST, owners, kinds)
        return Nearest(tuple(configured.nearest(search, model=model)))
    except (NotEmbedded, VectorsAway, ValueError) as error:
        why = f"Found by words alone: {str(error).rstrip('.')}."
        log.warning("memory.words_alone", why=why)
        with _lock:
            _failed[model] = (time.monotonic() + PAUSE_SECONDS, why)
        return Nearest(why=why)
