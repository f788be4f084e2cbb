"""Check that parts answer: database, Valkey, the pages, workers, queues, agents."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from checkpoints import queries
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.queries.installation.backlog import QueueRow
from dashboard.kit.terminal.console import first_line
from dashboard.operate.embedded import web_address
from dashboard.wire.valkey import client
from dashboard.wording.text import span
from gatepost_command import START

from .findings import Finding, Seen, note, ok, warning, wrong

SECONDS = 3.0
LOST_REPORTED = timedelta(hours=1)


def database(seen: Seen) -> Iterator[Finding]:
    """PostgreSQL answers; also measures the clocks."""
    at = settings.DATABASES["default"]
    where = f"{at.get('HOST') or 'socket'}{':' if at.get('PORT') else ''}{at.get('PORT', '')}"
    where = f"{where}/{connection.settings_dict['NAME']}"
    try:
        connection.ensure_connection()
        before, began = time.time(), time.monotonic()
        seen.answered = queries.server()
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        yield wrong(
            "database",
            f"{where}: {first_line(error)}",
            "Look at the server of DATABASE_URL." if seen.own_database else f"Call `{START}`.",
        )
        return
    took = time.monotonic() - began
    # In the middle of the round trip the database looked at its clock.
    seen.clock_off = before + took / 2 - seen.server.now.timestamp()
    seen.has.add("database")
    yield ok("database", f"{where} as {seen.server.role}, {took * 1000:.1f} ms")


def valkey(seen: Seen) -> Iterator[Finding]:
    """Valkey answers."""
    request = client(settings.REDIS_URL, socket_connect_timeout=SECONDS, socket_timeout=SECONDS)
    try:
        began = time.monotonic()
        request.ping()
        took = time.monotonic() - began
        seen.valkey = dict(request.info())
    except (redis.RedisError, OSError) as error:
        yield wrong(
            "Valkey",
            first_line(error),
            "Nothing is lost, but pages and starts are slow: "
            + ("look at the server of REDIS_URL." if seen.own_valkey else f"call `{START}`."),
        )
        return
    finally:
        request.close()
    seen.has.add("valkey")
    yield ok("Valkey", f"{took * 1000:.1f} ms")


def pages(seen: Seen) -> Iterator[Finding]:
    """The web server, if one was started here or named."""
    url = seen.url or web_address.noted(seen.data)
    if not url:
        yield note("pages", "no `up` runs on this data folder", "Name another page with --url.")
        return
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=SECONDS) as answer:  # noqa: S310
            status, text = answer.status, answer.read(10_000)
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read(10_000)
    except (OSError, ValueError) as error:
        yield wrong("pages", f"{url}: {first_line(error)}", "Look at logs/web.log, or restart it.")
        return
    try:
        parts = json.loads(text)
    except ValueError:
        parts = {}
    down = [name for name, state in parts.items() if state == "down"]
    if status == 200:
        yield ok("pages", f"{url} is ready")
    elif down:
        yield wrong("pages", f"{url}: {', '.join(down)} down", "See the findings about them here.")
    else:
        yield wrong("pages", f"{url} answers {status}", "Is this the address of Gatepost?")


def lost_workers(seen: Seen) -> Iterator[Finding]:
    """Workers that ended otherwise than by a stop, lately: a supervisor has to start others."""
    since = seen.server.now - LOST_REPORTED
    lost = [w for w in queries.workers() if not (w.alive or w.stopped) and w.seen_at > since]
    if lost:
        many = "1 worker" if len(lost) == 1 else f"{len(lost)} workers"
        last = max(lost, key=lambda worker: worker.seen_at)
        yield note(
            "lost workers",
            f"{many} fell silent within an hour, "
            f"the last one on {last.host} (process {last.pid}) at {last.seen_at:%H:%M:%S} UTC",
            "Its log says why it ended; its supervisor starts another one.",
        )
    else:
        yield ok("lost workers", "none within an hour")


def workers(seen: Seen) -> Iterator[Finding]:
    """Somebody does the work, or would be started for it; see docs/howto/from-zero.md."""
    alive = seen.workers
    if seen.standbys:
        hosts = ", ".join(sorted({standby.host for standby in seen.standbys}))
        yield ok("standby", f"{len(seen.standbys)} on {hosts}: sweeps while no worker lives")
    if alive:
        slots = sum(worker.slots for worker in alive)
        ago = (seen.server.now - max(w.seen_at for w in alive)).total_seconds()
        hosts = ", ".join(sorted({worker.host for worker in alive}))
        many = "worker" if len(alive) == 1 else "workers"
        shown = f"{len(alive)} {many} with {slots} slots on {hosts}, seen {span(ago)} ago"
        yield ok("workers", shown)
        return
    if seen.standbys:
        waiting = sum(row.threads for row in _queues())
        if waiting:
            yield warning(
                "workers",
                f"none alive, and {waiting:,} threads wait",
                "What starts workers from zero should have by now: look at its log.",
            )
        else:
            yield ok("workers", "none, and nothing waits for one")
        return
    seen_at = max((worker.seen_at for worker in queries.workers() if worker.slots), default=None)
    last = "never seen" if seen_at is None else f"last seen {seen_at:%Y-%m-%d %H:%M:%S} UTC"
    yield wrong("workers", f"none alive, {last}", f"Start one: `{START}`, or the service `worker`.")


def queues(seen: Seen) -> Iterator[Finding]:
    """Each queue with threads has a worker that serves it."""
    served = {queue for worker in seen.workers for queue in worker.queues}
    waiting = _queues()
    for row in waiting:
        if row.queue not in served:
            yield wrong(
                f"queue {row.queue}",
                f"{row.threads} threads wait, no worker serves it",
                f"Start a worker that serves it: python -m workers --queues {row.queue}",
            )
    if all(row.queue in served for row in waiting):
        yield ok("queues", f"served: {', '.join(sorted(served)) or 'none'}")


def _queues() -> list[QueueRow]:
    """Queues of our workers; threads of agents elsewhere wait for their programs instead."""
    return [row for row in queries.queues() if row.queue != EXTERNAL_QUEUE]


def agents(seen: Seen) -> Iterator[Finding]:
    """Each unfinished thread's code is where workers are."""
    held = {version for worker in seen.workers for version in worker.agents}
    versions = {v.id: v for v in queries.agent_versions()}
    names = {v.agent for v in versions.values() if str(v.id) in held}
    bad = False
    for ident, by_status in queries.version_threads().items():
        version = versions.get(ident)
        if version is None or str(ident) in held or version.queue == EXTERNAL_QUEUE:
            continue
        bad = True
        n = sum(by_status.values())
        many = "1 thread" if n == 1 else f"{n} threads"
        if version.agent in names:
            yield note(
                f"agent {version.agent}",
                f"{many} stopped with other code ({version.version}, {version.fingerprint[:12]})",
                "They ask before they continue with the current code; retry accepts it.",
            )
        elif seen.standbys and not seen.workers:
            yield note(
                f"agent {version.agent}",
                f"{many}, and no worker lives",
                "One is started when a thread can continue.",
            )
        else:
            yield warning(
                f"agent {version.agent}",
                f"{many}, and no live worker has this agent",
                "Start a worker with its module in GATEPOST_AGENTS, or cancel them.",
            )
    if not bad:
        yield ok("agents", ", ".join(sorted(names)) or "none announced by a live worker")
