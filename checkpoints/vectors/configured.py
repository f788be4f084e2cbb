"""The store that the settings name, opened once in a process, and its searches.

GATEPOST_EMBEDDINGS names the model; without one there are no vectors. GATEPOST_VECTORS names the
store: "" is this process, `qdrant:URL` a server of Qdrant, with the key in GATEPOST_VECTORS_KEY.
"""

from __future__ import annotations

import os
from functools import lru_cache

from django.conf import settings

from checkpoints.queries.remembered import Near

from .feed import Follower
from .stores import INSTALL, KEY, QDRANT, SETTING, Search, VectorsAway, VectorStore


def address() -> str:
    """The store of the settings, "" for this process."""
    return str(getattr(settings, SETTING, ""))


def opened(where: str, model: str) -> VectorStore:
    """The store at an address; raises VectorsAway where its package is not installed."""
    return _opened(where, model, os.getpid())


def nearest(search: Search, *, model: str) -> list[Near]:
    """(memory, revision) of the nearest, the best first; raises VectorsAway, ValueError."""
    where = address()
    store = opened(where, model)
    if not where:
        _follower(model, os.getpid()).refresh(search.workspace)
    return [(hit.id, hit.revision) for hit in store.search(search)]


# By process: a client of a network, or a lock, is not to be shared with a fork.
@lru_cache(maxsize=8)
def _opened(where: str, model: str, _process: int) -> VectorStore:
    try:
        if not where:
            from .in_process import InProcess

            return InProcess()
        from .qdrant import connect

        return connect(where.removeprefix(QDRANT), model=model, key=getattr(settings, KEY, ""))
    except ModuleNotFoundError as error:
        raise VectorsAway(f"{error.name} is not installed: it comes with {INSTALL}") from error


@lru_cache(maxsize=8)
def _follower(model: str, process: int) -> Follower:
    return Follower(_opened("", model, process), model)
