"""Saying "look" through Valkey: short, never raising, never waited for.

A hint is `{"t": thread, "w": workspace, "s": seq}`, with `"again": true` when its pages show
something new that is no event of its own; news of progress is `{"t", "w", "p": {...}}`, and of
logins that ended `{"out": [marks]}`, of all without marks.
Losing one costs a page at most one poll.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

if TYPE_CHECKING:
    import redis

log = logging.getLogger(__name__)

CHANNEL = "gatepost:hints"
TIMEOUT = 0.2  # seconds a commit or a page may lose to a Valkey that does not answer
SILENCE = 1.0  # seconds without a try after that

_lock = threading.Lock()
_clients: dict[str, redis.Redis] = {}
_away = False
_silent_until = 0.0


def client() -> redis.Redis:
    """Return this process's client; its pool opens connections of its own after a fork."""
    # Here: a command that only reads has no use for it, and its import takes a while.
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    from .valkey import client as new_client

    url = settings.REDIS_URL
    response = _clients.get(url)
    if response is None:
        with _lock:
            response = _clients.setdefault(
                url,
                new_client(
                    url,
                    protocol=2,
                    socket_timeout=TIMEOUT,
                    socket_connect_timeout=TIMEOUT,
                    retry=Retry(NoBackoff(), 0),
                ),
            )
    return response


def attempt[T](call: Callable[[redis.Redis], T]) -> T | None:
    """The answer of `call`, or None while Valkey is away; logs once per outage."""
    from redis.exceptions import RedisError

    global _away, _silent_until
    if _away and time.monotonic() < _silent_until:
        return None
    try:
        answer = call(client())
    except (RedisError, OSError) as error:
        _silent_until = time.monotonic() + SILENCE
        if not _away:
            log.warning("Valkey is away, hints are lost and pages poll: %s", error)
        _away = True
        return None
    if _away:
        log.warning("Valkey is back: hints go out again")
    _away = False
    return answer


def publish(*texts: str) -> None:
    """Send messages to all hubs, in one round trip."""
    if len(texts) == 1:
        attempt(lambda valkey: valkey.publish(CHANNEL, texts[0]))
        return

    def together(valkey: redis.Redis) -> None:
        with valkey.pipeline(transaction=False) as pipe:
            for text in texts:
                pipe.publish(CHANNEL, text)
            pipe.execute()

    attempt(together)


def mark_of(key: str) -> str:
    """A name for a login that opens nothing: its key never goes through Valkey."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def logins_changed(keys: Iterable[str] = ()) -> None:
    """Open sockets of these logins, or of all, are looked at again: they ended or moved."""
    marks = ",".join(f'"{mark_of(key)}"' for key in keys)
    publish(f'{{"out":[{marks}]}}')


def look_at_board(workspace: UUID) -> None:
    """Boards of this workspace show something new; no thread has the id of a workspace."""
    look_again(workspace, workspace)


def look_again(thread_id: UUID, workspace: UUID) -> None:
    """Pages of this thread show something new beside its events, for example a fork of it."""
    publish(f'{{"t":"{thread_id}","w":"{workspace}","s":0,"again":true}}')
