"""Results across threads, in the cache that the settings name `results`; never a record.

Whatever goes wrong with it costs a call and nothing else: no thread fails or waits because of it.
"""

from __future__ import annotations

from typing import Any

import structlog
from django.core.cache import caches

from checkpoints.state import deltas

ALIAS = "results"
log = structlog.get_logger("gatepost.engine")


def get(key: str) -> Any:
    """The value saved under a key; None for nothing."""
    try:
        text = caches[ALIAS].get(key)
        return None if text is None else deltas.decode(text)
    except Exception:
        log.warning("result_cache.away", exc_info=True)
        return None


def put(key: str, value: Any, seconds: float) -> None:
    """Keep a value for so long, if there is room."""
    try:
        caches[ALIAS].set(key, deltas.canonical(value).decode(), timeout=seconds)
    except Exception:
        log.warning("result_cache.away", exc_info=True)
