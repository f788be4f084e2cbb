"""The alarm of a hot store that fills up, while there is still room in it."""

from __future__ import annotations

from typing import Final

import structlog
from django.db import transaction
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.hot.persistence import ALARM_SHARE, filling, read_persistence

from .. import outbox

log = structlog.get_logger("gatepost.hot_store")
KIND: Final = "hot_store.filling"
# So long nothing more is said of a store that stays as full.
SILENCE_SECONDS: Final = 3600.0


def announce_filling() -> int:
    """Put one news for each workspace in the outbox while the hot store is nearly full; how many.

    A hot store that is away is no news here: each append to it fails with an error of its own.
    """
    import redis

    try:
        persistence = read_persistence(timeout=1.0)
    except (redis.RedisError, OSError):
        return 0
    if persistence.share < ALARM_SHARE:
        return 0
    with transaction.atomic():
        # A duty that each call takes in a name of its own: one of them in an hour gets it.
        if not store.claim_duty(KIND, owner=str(uuid7()), seconds=SILENCE_SECONDS):
            return 0
        (fault,) = filling(persistence)
        log.critical(KIND, share=round(persistence.share, 3), used=persistence.used_bytes)
        heads = list(queries.heads("workspace"))
        for head in heads:
            data = {
                "what": f"{fault.sentence} {fault.cure}",
                "used_bytes": persistence.used_bytes,
                "limit_bytes": persistence.limit_bytes,
            }
            outbox.add(KIND, workspace=head.ident, thread=None, data=data)
    return len(heads)
