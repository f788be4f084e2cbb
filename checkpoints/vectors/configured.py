"""The store that the settings name, opened once in a process, and its searches.

GATEPOST_EMBEDDINGS names the model; without one there are no vectors. GATEPOST_VECTORS names the
store: "" is this process, `qdrant:URL` and `milvus:URL` servers, their key in GATEPOST_VECTORS_KEY.
"""

from __future__ import annotations

import os
from functools import lru_cache

from django.conf import settings

from checkpoints.queries.remembered import Near

from .feed import Follower
from .stores import CLIENTS, KEY, MILVUS, SETTING, Search, VectorsAway, VectorStore, install


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
    kind, separator, url = where.partition(":")
    kind += separator
    key = getattr(settings, KEY, "")
    try:
        if not where:
            from .in_process import InProcess

            return InProcess()
        if kind == MILVUS:
            from . import milvus

            return milvus.connect(url, model=model, key=key)
        from . import qdrant

        return qdrant.connect(url, model=model, key=key)
    except ModuleNotFoundError as error:
        _, extra = CLIENTS.get(kind, ("", "memory"))
        raise VectorsAway(
            f"{error.name} is not installed: it comes with {install(extra)}"
        ) from error


@lru_cache(maxsize=8)
def _follower(model: str, process: int) -> Follower:
    return Follower(_opened("", model, process), model)
