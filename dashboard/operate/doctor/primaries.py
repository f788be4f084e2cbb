"""Check that of several hosts of PostgreSQL one accepts writes and the others can take over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
from django.db import connection

from dashboard.configuration.timelines import Host, listed_hosts, timeline_of
from dashboard.kit.terminal.console import first_line

from .findings import Finding, Seen, note, ok, warning, wrong

NAME = "primaries"
SECONDS = 3


def one_primary(_seen: Seen) -> Iterator[Finding]:
    """Ask each host of DATABASE_URL by itself; a former primary that accepts writes is wrong."""
    parameters = connection.get_connection_params()
    hosts = listed_hosts("", parameters)
    if not hosts:
        yield ok(NAME, "one host is named")
        return
    writing: list[tuple[int, Host]] = []
    n_following = 0
    for host in hosts:
        try:
            timeline = _timeline(parameters, host)
        except psycopg.Error as error:
            yield warning(
                NAME,
                f"{_named(host)} doesn't answer: {first_line(error)}",
                "Start it, or replace it: without it a failover has one host less to go to.",
            )
            continue
        if timeline is None:
            n_following += 1
        else:
            writing.append((timeline, host))
    if not writing:
        yield wrong(
            NAME,
            "no host accepts writes",
            "Promote a replica, or start the primary: until then nothing is decided or worked on.",
        )
        return
    newest, *former = sorted(writing, reverse=True)
    for timeline, host in former:
        # Two ways to one server, such as two PgBouncers, have the same timeline.
        if timeline < newest[0]:
            yield wrong(
                NAME,
                f"{_named(host)} still accepts writes, though {_named(newest[1])} was promoted",
                "Fence it: stop it, or make it a replica (pg_rewind, standby.signal). What was "
                "written there since is lost.",
            )
    if n_following:
        replicas = "1 replica follows" if n_following == 1 else f"{n_following} replicas follow"
        yield ok(NAME, f"{_named(newest[1])} accepts writes, {replicas}")
    elif not former:
        yield note(NAME, f"{_named(newest[1])} accepts writes, and no replica answers")


def _timeline(parameters: dict[str, Any], host: Host) -> int | None:
    """The timeline that a host writes; None where it follows another. Raises psycopg.Error."""
    own = {"host": host[0], "port": host[1], "target_session_attrs": "any"}
    limits = {"connect_timeout": SECONDS, "autocommit": True}
    with psycopg.connect(**(parameters | own | limits)) as made:
        row = made.execute("SELECT pg_is_in_recovery()").fetchone()
        return None if row is None or row[0] else timeline_of(made)


def _named(host: Host) -> str:
    return f"{host[0]}:{host[1]}" if host[1] else host[0]
