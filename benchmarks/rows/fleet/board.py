"""Row 11: the board with 1,000,000 threads of ten events each, its pages and what they read.

Pages are whole ones of somebody signed in, with middleware and templates, in this process. Beside
them stand an exact count of all threads and pages by OFFSET on the same table.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from django.db import connection

from checkpoints.states import Status
from dashboard.board.board import BoardPage

from ... import inbox
from ...ground import median, percentile, workspace
from ...report import Measured
from ...servers import Bench
from ..timeline import server_ms
from .fill import Raw, fill

THREADS = 1_000_000
LOOKS = 60
BEFORE = 5  # looks that do not count
# Statuses of which a list is read at its beginning, in its middle and near its end.
LISTED = (Status.SUCCEEDED, Status.WAITING, Status.FAILED)
PLACES = (0.001, 0.5, 0.999)
FILTERS = (
    "?status=attention,waiting,failed",
    "?agent=bench-recording",
    "?q=has:error",
    "?columns=agent,cost,idle",
    "?q=label:team",  # 100,000 threads
    "?q=customer",  # 750,000
    "?q=customer+777777",  # one
    "?q=state.order:777777",  # one
    "?q=state.customer:c77",  # 1,000
    "?q=state.region:north",  # 250,000
)
# Printed, not judged: a label of 20,000 threads, a beginning of a common word that the planner
# takes to be rare, and what no index has in the order of the list.
SEARCHES = ("?q=label:team=t20", "?q=ord", "?q=age:<2h")
_EXACT = "SELECT status, count(*) FROM gp_thread WHERE workspace_id = %s GROUP BY status"
_OFFSET = (
    "SELECT id, title, status FROM gp_thread WHERE workspace_id = %s AND status = %s "
    "ORDER BY status_since DESC, id DESC OFFSET %s LIMIT 50"
)


def figures(raw: Raw) -> Measured:
    """All of the row, on threads that stand there."""
    measured = Measured({})
    owner = workspace()
    lists = {
        f"{status} at {share}": partial(
            BoardPage, values={"status": (status,)}, after=after, workspace=owner
        )
        for status, share, after in places(raw)
    }
    keyset = {name: server_ms(lambda page=page: page().listed) for name, page in lists.items()}  # type: ignore[misc]
    measured.values["keyset_ms"] = max(keyset.values())
    measured.values["counts_ms"] = server_ms(lambda: BoardPage(workspace=owner).counts)
    measured.baselines["counts_ms"] = took(raw, _EXACT, (owner,))
    threads = _one(raw, "SELECT count(*) FROM bench_thread WHERE status = 'succeeded'")
    measured.baselines["keyset_ms"] = took(raw, _OFFSET, (owner, "succeeded", threads // 2))
    addresses = ["", *(f"?status={status}" for status in LISTED), *FILTERS]
    addresses += [f"?status={status}&after={after}" for status, _, after in places(raw)]
    user = inbox.reviewer()
    pages = dict(looked_at(user, addresses, LOOKS))
    measured.values["page_p95_ms"] = max(p95 for p95, _, _ in pages.values())
    measured.values["html_kb"] = max(size for _, _, size in pages.values()) / 1e3
    measured.details["pages"] = {
        address.partition("&after=")[0] + ("&after=..." if "after" in address else ""): {
            "p95_ms": round(p95, 1),
            "p50_ms": round(p50, 1),
            "html_kb": round(size / 1e3, 1),
        }
        for address, (p95, p50, size) in pages.items()
    }
    measured.details["searches_ms"] = {
        address: round(p50) for address, (_, p50, _) in looked_at(user, SEARCHES, 1)
    }
    measured.details["keyset"] = {name: round(ms, 3) for name, ms in keyset.items()}
    return measured


def places(raw: Raw) -> Iterator[tuple[Status, float, str]]:
    """(status, share of the list before it, cursor) of places in the lists of LISTED."""
    for status in LISTED:
        n = _one(raw, "SELECT count(*) FROM gp_thread WHERE status = %s", status)
        for share in PLACES:
            order = "" if status is Status.WAITING else "DESC"
            [at, ident] = raw.execute(
                f"SELECT status_since, id FROM gp_thread WHERE status = %s ORDER BY status_since "
                f"{order}, id {order} OFFSET %s LIMIT 1",
                (status, min(int(n * share), n - 1)),
            ).fetchall()[0]
            text = f"{at.isoformat()} {ident}".encode()
            yield status, share, base64.urlsafe_b64encode(text).decode().rstrip("=")


def looked_at(
    user: Any, addresses: Iterable[str], looks: int
) -> Iterator[tuple[str, tuple[float, float, int]]]:
    """(address, (p95 in ms, p50 in ms, bytes)) of whole boards."""
    from django.test import Client

    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    for address in addresses:
        times, before = [], min(BEFORE, looks)
        for _ in range(looks + before):
            began = time.perf_counter()
            answer = client.get(f"/{address}", headers={"host": "localhost"})
            times.append((time.perf_counter() - began) * 1e3)
            if answer.status_code != 200:
                raise RuntimeError(f"/{address} answered {answer.status_code}")
        counted = times[before:]
        yield address, (percentile(counted, 0.95), median(counted), len(answer.content))


def took(raw: Raw, sql: str, params: tuple[Any, ...]) -> float:
    """Milliseconds of a statement in the database, as EXPLAIN ANALYZE says; the median of some."""
    times = []
    for _ in range(11):
        [[plan]] = raw.execute(
            f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params
        ).fetchall()
        times.append(plan[0]["Execution Time"])
    return median(times)


def _one(raw: Raw, sql: str, *params: Any) -> int:
    row = raw.execute(sql, params).fetchone()
    return int(row[0]) if row else 0


def measure(bench: Bench, scale: float) -> Measured:
    """Fill the bench's database, which nothing else is measured on afterwards, and look."""
    threads = int(THREADS * scale)
    with bench.connect() as raw:
        began = time.monotonic()
        fill(raw, threads)
        connection.close()  # its plans were made for empty tables
        filled = time.monotonic() - began
        measured = figures(raw)
        events = _one(raw, "SELECT count(*) FROM gp_event")
    measured.details |= {"threads": threads, "events": events, "filling_s": round(filled)}
    return measured
