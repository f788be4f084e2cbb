"""The system check of the hot store: `manage.py check` warns while it keeps nothing on its disk."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Warning, register

from checkpoints.hot.persistence import faults, read_persistence


@register()
def check_hot_store(**_kwargs: Any) -> list[CheckMessage]:
    """Warn of each fault; a hot store that does not answer is named by doctor and by workers."""
    import redis

    try:
        result = faults(read_persistence(timeout=1.0))
    except (redis.RedisError, OSError):
        return []
    return [Warning(one.sentence, hint=one.cure, id="gatepost.W001") for one in result]
