"""Connect to the host that was promoted last, where an address lists several.

libpq takes the first host that accepts writes. So does a former primary that comes back, because
nobody fenced it: it lacks all work since, and commits there wait for a replica that has left, or
are lost later. Each promotion begins a timeline with a higher number, which tells both apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from psycopg import Connection, Error, OperationalError
from psycopg.conninfo import conninfo_to_dict

# Not more often: a host that stands still costs each look its time.
LOOK_SECONDS: Final = 10.0
LOOK_TIMEOUT: Final = 2  # seconds for a further host; the shortest that libpq knows
WRITING: Final = ("read-write", "primary")
TIMELINE: Final = "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer"

log = structlog.get_logger("gatepost.database")

type Host = tuple[str, str]


class Seen:
    """The highest timeline that this process has connected to, and its host; forks inherit it."""

    highest = 0
    host: Host | None = None
    looked_at = -LOOK_SECONDS


seen = Seen()


def listed_hosts(conninfo: str, options: Mapping[str, Any]) -> list[Host]:
    """Each (host, port) of an address that lists several and wants the one that accepts writes."""
    parts: dict[str, Any] = {**conninfo_to_dict(conninfo), **options}
    hosts = str(parts.get("host") or "").split(",")
    if len(hosts) < 2 or parts.get("hostaddr") or parts.get("target_session_attrs") not in WRITING:
        return []
    ports = str(parts.get("port") or "").split(",")
    return list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=True))


def connect_to_newest[C: Connection[Any]](
    hosts: list[Host], connect: Callable[..., C]
) -> tuple[C, int]:
    """Connect to the host of the highest timeline; that timeline beside it.

    1. Try the hosts, beginning with that of the last connection.
    2. Stop at the first that has not fallen behind, unless it is time to look at the others.
    3. Of two that accept writes, close the connection to the lower timeline.

    Raises OperationalError when none accepts writes or all of them are former primaries.
    """
    look = time.monotonic() - seen.looked_at > LOOK_SECONDS
    best: tuple[int, C] | None = None
    reasons: list[str] = []
    for host, port in sorted(hosts, key=lambda one: one != seen.host):
        limit = {"connect_timeout": LOOK_TIMEOUT} if best else {}
        try:
            made = connect(host=host, port=port, **limit)
            current = timeline_of(made), made
        except OperationalError as error:
            reasons.append(str(error).strip())
            continue
        if best is not None:
            lower = best if current[0] > best[0] else current
            current = current if lower is best else best
            # Two with the same timeline are two ways to one server, such as two PgBouncers.
            if lower[0] < current[0]:
                info = lower[1].info
                log.critical("database.two_primaries", former=f"{info.host}:{info.port}")
            lower[1].close()
        best = current
        if best[0] >= seen.highest and not look:
            break
    if best is None:
        raise OperationalError("; ".join(reasons))
    if look:
        seen.looked_at = time.monotonic()
    timeline, made = best
    if timeline < seen.highest:
        made.close()
        message = f"{made.info.host} accepts writes, but another host was promoted since"
        raise OperationalError(message)
    seen.highest, seen.host = timeline, (made.info.host, str(made.info.port))
    return made, timeline


def timeline_of(connection: Connection[Any]) -> int:
    """The timeline that the server writes; 0 where it doesn't say, as some managed services."""
    former, connection.autocommit = connection.autocommit, True
    try:
        row = connection.execute(TIMELINE).fetchone()
    except OperationalError:
        raise
    except Error:
        return 0
    finally:
        if not connection.closed:
            connection.autocommit = former
    return int(row[0]) if row else 0
