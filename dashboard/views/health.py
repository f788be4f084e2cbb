"""Is the process alive, and can it do its work: for supervisors and load balancers, no login."""

from __future__ import annotations

import logging

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from checkpoints import queries

logger = logging.getLogger(__name__)

OK, DOWN = "ok", "down"


@login_not_required
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
def readyz(_request: HttpRequest) -> HttpResponse:
    """{"database", "valkey", "worker"}: each ok or down; 503 unless all are ok."""
    database = _database()
    found = {
        "database": database,
        "valkey": _valkey(),
        # Without a database nobody knows, and asking again would only wait again.
        "worker": database and _worker(),
    }
    parts = {name: OK if up else DOWN for name, up in found.items()}
    ready = all(found.values())
    return JsonResponse({"ready": ready, **parts}, status=200 if ready else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        logger.warning("readyz: the database does not answer", exc_info=True)
        return False
    return True


def _valkey() -> bool:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1)
    try:
        return bool(client.ping())
    except redis.RedisError:
        logger.warning("readyz: Valkey does not answer", exc_info=True)
        return False
    finally:
        client.close()


def _worker() -> bool:
    """A worker that gave a sign of life within its time."""
    try:
        return any(worker.alive for worker in queries.workers())
    except (DatabaseError, InterfaceError):
        return False
