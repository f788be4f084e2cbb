"""`python -m benchmarks.inbox [--requests N] [--decisions N] [--threads N]`: decisions and pages.

One JSON line per figure, in the form of the budget's rows. Decisions are `approval.decide` on
threads that wait for real, each recorded one is counted afterwards; beside them a raw transaction
that writes as many rows with the same bytes. The inbox is the whole page of a signed-in reviewer
with so many open requests, the board the one with so many threads; beside each a raw read of as
many rows by an index.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg

from . import servers
from .ground import median, percentile, workspace
from .report import dumped, tidy

type Raw = psycopg.Connection[Any]

PAGE_MS = 100  # the board's budget, row 11
CLIENTS = (1, 4)
LOOKS = 60
_PLAIN = (
    "CREATE TABLE bench_decided (id uuid PRIMARY KEY, status text, outcome text, decided_by text)",
    "CREATE TABLE bench_decision (id uuid PRIMARY KEY, request uuid, body jsonb, rest bytea)",
    "CREATE TABLE bench_seen (id uuid PRIMARY KEY, body jsonb, rest bytea)",
)
# What differs from one open request to the next; all else is the first one's.
SPREAD = {
    "id": "gen_random_uuid()",
    "step": "1000 + n",
    "title": "CASE WHEN mod(n, 4) = 0 THEN 'Refund order ' || n "
    "ELSE 'Write to ' || md5(n::text) END",
    "risk": "(ARRAY['high', 'medium', 'low', 'low'])[1 + mod(n, 4)]",
    "requested_at": "now() - make_interval(secs => mod(n * 7, 100000))",
    "deadline": "CASE WHEN mod(n, 3) = 0 THEN now() + make_interval(secs => 600 + n) END",
}


# The same of threads: a board with every status, most of them over.
SPREAD_THREADS = {
    "id": "gen_random_uuid()",
    "chain_id": "gen_random_uuid()",
    "name": "NULL",
    "title": "'Thread ' || n",
    "status": "(ARRAY['attention', 'waiting', 'failed', 'sleeping', 'running', 'queued', 'paused', "
    "'succeeded', 'succeeded', 'succeeded', 'cancelled'])[1 + mod(n, 11)]",
    "status_since": "now() - make_interval(secs => mod(n * 7, 1000000))",
}


def line(
    what: str,
    value: float,
    unit: str,
    baseline: float | None = None,
    *,
    budget: float | None = None,
    row: str = "inbox",
    **more: Any,
) -> dict[str, Any]:
    """One figure of a row; what has no budget is ok once it is measured."""
    shown = tidy(value)
    return {
        "row": row,
        "what": what,
        "value": shown,
        "unit": unit,
        "baseline": tidy(baseline),
        "ratio": tidy(value / baseline) if baseline else None,
        "budget": budget,
        "ok": budget is None or shown <= budget,
        **{name: tidy(figure) for name, figure in more.items()},
    }


def reviewer() -> Any:
    """A signed-in reviewer of the bench's workspace, as a Django user."""
    from django.contrib.auth import get_user_model

    from checkpoints import store

    user = get_user_model()._default_manager.create_user(f"reviewer-{uuid4().hex[:8]}")
    store.grant(workspace(), user.pk, "reviewer", actor="bench:1")
    return user


def cookie() -> str:
    """The cookie of a reviewer who has signed in."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(reviewer(), "dashboard.identity.backends.Passwords")
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def waiting(version: UUID, n: int, *, risk: str = "low") -> Any:
    """A real thread that waits at a gate; its request."""
    from approvals import gates, queries
    from checkpoints import leases, store
    from checkpoints.records import Position

    thread = store.start(version, input={}, workspace=workspace(), actor="bench:1", title="bench")
    work = leases.acquire(thread, owner="bench:1:1")
    if work is None:
        raise RuntimeError("somebody else works on the bench's thread")
    proposal = gates.Proposal(
        Position(work.branch, work.step + 1, "pay", 0, "refund.pay#0"),
        kind="gate",
        tool="refund.pay",
        args={"order": f"{n}", "amount": "12.50", "currency": "EUR"},
        title=f"Refund order {n}",
        risk=risk,
    )
    if not gates.request(work, [proposal]):
        raise RuntimeError("the bench's thread did not wait")
    return queries.for_thread(thread, open_only=True)[0]


SEARCHED = ("customer", "order", "region")
CHANNEL = {"reducer": "last_value", "searchable": True}


def version() -> UUID:
    """An agent that no worker works for."""
    from checkpoints import store

    return store.announce_version(
        agent="bench-inbox", version=1, fingerprint="bench", label="Inbox", description="",
        schema_version=1, schema={"type": "object"}, channels=dict.fromkeys(SEARCHED, CHANNEL),
        graph={"entry": ["pay"], "nodes": [{"name": "pay", "then": []}]},
        tools={"refund.pay": {"effect": True}}, queue="bench-nobody-listens",
    )  # fmt: skip


def shared(calls: Sequence[Callable[[], Any]], clients: int) -> float:
    """Calls per second of so many clients, each with a connection of its own."""
    from django.db import connections

    def work(mine: Sequence[Callable[[], Any]]) -> None:
        try:
            for call in mine:
                call()
        finally:
            connections.close_all()

    parts = [calls[i::clients] for i in range(clients)]
    began = time.perf_counter()
    if clients == 1:
        for call in calls:
            call()
    else:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(work, parts))
    return len(calls) / (time.perf_counter() - began)


def decisions(raw: Raw, user: Any, n: int) -> Iterator[dict[str, Any]]:
    """Decisions per second, and how many of them the database has."""
    from dashboard.approvals.decide import DECIDE, Decide
    from dashboard.identity.permissions import actor_of

    agent, actor = version(), actor_of(user)
    for clients in CLIENTS:
        rows = [waiting(agent, i) for i in range(n)]
        rate = shared(
            [
                lambda row=row: DECIDE.run(  # type: ignore[misc]
                    actor, Decide(verdict="approve", proposal_hash=row.proposal_hash), row.id
                )
                for row in rows
            ],
            clients,
        )
        result = raw.execute(
            "SELECT count(*), count(DISTINCT approval_id) FROM gp_decision WHERE "
            "approval_id = ANY(%s::uuid[])",
            ([row.id for row in rows],),
        ).fetchone()
        made = line(
            f"decisions per second, {clients} client{'s' if clients > 1 else ''}",
            rate,
            "decisions per second",
            plain_decisions(raw, n, clients),
            decided=n,
            recorded=result[0] if result else 0,
        )
        yield made | {"ok": result == (n, n)}


def plain_decisions(raw: Raw, n: int, clients: int) -> float:
    """The same number of transactions that change a row and write one, by prepared statements."""
    ids = [uuid4() for _ in range(n)]
    raw.cursor().executemany(
        "INSERT INTO bench_decided VALUES (%s, 'pending', '', '')", [(ident,) for ident in ids]
    )
    body, rest = json.dumps({"verdict": "approve", "hash": "0" * 64}), os.urandom(400)
    address = raw.info.dsn

    def work(mine: Sequence[UUID]) -> None:
        with psycopg.connect(address, prepare_threshold=0) as own:
            for ident in mine:
                with own.transaction():
                    own.execute(
                        "UPDATE bench_decided SET status = 'settled', outcome = 'approve', "
                        "decided_by = 'user:1' WHERE id = %s AND status = 'pending'",
                        (ident,),
                    )
                    own.execute(
                        "INSERT INTO bench_decision VALUES (%s, %s, %s, %s)",
                        (uuid4(), ident, body, rest),
                    )

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, [ids[i::clients] for i in range(clients)]))
    return n / (time.perf_counter() - began)


def crowded(raw: Raw, n: int) -> None:
    """So many open requests."""
    row = waiting(version(), 0)
    multiply(raw, "gp_approval", row.id, SPREAD, n)
    raw.execute(_FILL_SEEN)
    for table in ("gp_approval", "gp_decision", "bench_seen"):
        raw.execute(f"VACUUM ANALYZE {table}")


def copied(raw: Raw, table: str, spread: Mapping[str, str]) -> tuple[str, str]:
    """(columns, values) of an INSERT that copies a row `a` of a table but for `spread`."""
    names = [
        name
        for (name,) in raw.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attgenerated = ''",
            (table,),
        ).fetchall()
    ]
    columns = ", ".join(f'"{name}"' for name in names)
    return columns, ", ".join(spread.get(name, f'a."{name}"') for name in names)


def multiply(raw: Raw, table: str, ident: UUID, spread: Mapping[str, str], n: int) -> None:
    """Add `n` rows that are like this one but for what `spread` says."""
    columns, values = copied(raw, table, spread)
    raw.execute(
        f"INSERT INTO {table} ({columns}) SELECT {values} FROM {table} a, "
        f"generate_series(1, {int(n)}) n WHERE a.id = '{ident}'"
    )


_FILL_SEEN = """
INSERT INTO bench_seen SELECT id, jsonb_build_object('title', title, 'args', args), decode(md5(
  id::text), 'hex') FROM gp_approval WHERE status = 'pending' ON CONFLICT DO NOTHING
"""


def pages(raw: Raw, user: Any, n: int) -> Iterator[dict[str, Any]]:
    """The whole page in this process, its middleware and templates included."""
    from django.test import Client

    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    seen = "SELECT id, body, rest FROM bench_seen WHERE id > %s ORDER BY id LIMIT 150"
    for query in ("box=mine", "box=mine&sort=deadline", "box=open&sort=age", "box=due", "box=high"):
        what = f"inbox page p95 with {n:,} open requests, {query}"
        yield timed(client, f"/approvals/?{query}", raw, seen, what)


def boards(raw: Raw, user: Any, n: int) -> Iterator[dict[str, Any]]:
    """The board with so many threads: all of them, and one status of it."""
    from django.test import Client

    multiply(raw, "gp_thread", waiting(version(), 0).thread, SPREAD_THREADS, n)
    raw.execute("VACUUM ANALYZE gp_thread")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    rows = "SELECT * FROM gp_thread WHERE id > %s ORDER BY id LIMIT 36"
    for query in ("", "?status=failed"):
        what = f"board page p95 with {n:,} threads{', ' if query else ''}{query[1:]}"
        yield timed(client, f"/{query}", raw, rows, what)


def timed(client: Any, address: str, raw: Raw, sql: str, what: str) -> dict[str, Any]:
    """The 95th percentile of a page, beside a raw read of the rows."""
    results, size = [], 0
    for i in range(LOOKS + 5):
        began = time.perf_counter()
        answer = client.get(address, headers={"host": "localhost"})
        if i >= 5:
            results.append((time.perf_counter() - began) * 1e3)
        if answer.status_code != 200:
            raise RuntimeError(f"{address} answered {answer.status_code}")
        size = len(answer.content)
    plain = []
    for _ in itertools.repeat(None, LOOKS):
        began = time.perf_counter()
        raw.execute(sql, (uuid4(),)).fetchall()
        plain.append((time.perf_counter() - began) * 1e3)
    return line(
        what,
        percentile(results, 0.95),
        "ms",
        percentile(plain, 0.95),
        budget=PAGE_MS,
        p50_ms=median(results),
        kilobytes=size / 1e3,
    )


def measure(raw: Raw, requests: int, n: int, threads: int) -> Iterator[dict[str, Any]]:
    """All figures; `raw` is a connection of its own, in autocommit."""
    for statement in _PLAIN:
        raw.execute(statement)
    user = reviewer()
    yield from decisions(raw, user, n)
    crowded(raw, requests)
    yield from pages(raw, user, requests)
    yield from boards(raw, user, threads)


def main(arguments: Sequence[str]) -> int:
    """Measure and print a line per figure; 1 if one is not ok."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inbox", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, metavar="N")
    parser.add_argument("--decisions", type=int, default=1_000, metavar="N")
    parser.add_argument("--threads", type=int, default=100_000, metavar="N")
    value = parser.parse_args(arguments)
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    good = True
    with servers.bench() as bench, bench.connect() as raw:
        for item in measure(raw, value.requests, value.decisions, value.threads):
            good = good and item["ok"]
            print(dumped(item), file=answers, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
