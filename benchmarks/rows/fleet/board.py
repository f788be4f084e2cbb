"""Row 11: lists with 1,000,000 threads of ten events each, and the overview as a workspace grows.

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

from checkpoints import store
from checkpoints.states import Status
from dashboard.board.board import BoardPage

from ... import inbox
from ...ground import median, percentile, workspace
from ...report import Measured
from ...servers import Bench
from ..timeline import server_ms
from .fill import Raw, fill
from .records import auditor

THREADS = 1_000_000
GROWN = (1_000, 100_000)  # threads at which the overview is looked at
PERIODS = ("24h", "7d", "30d")
LOOKS = 40
BEFORE = 5  # looks that do not count
# Statuses of which a list is read at its beginning, in its middle and near its end.
LISTED = (Status.SUCCEEDED, Status.WAITING, Status.FAILED)
PLACES = (0.001, 0.5, 0.999)
FILTERS = (
    "?status=attention,waiting,failed",
    "?agent=bench-recording",
    "?agent=nobody",
    "?framework=Nothing",
    "?framework=Gatepost",  # all
    "?depth=1",
    "?children=1",
    "?damaged=1",
    "?columns=agent,cost,idle",
    "?q=has:error",
    "?q=has:stuck",
    "?q=age:<2h",
    "?q=age:>29d",
    "?q=age:>90d",  # none
    "?q=idle:>20d",
    "?q=cost:>100",  # none
    "?q=node:nothing",
    "?q=before:2026-01-01",  # none
    "?q=-agent:bench-recording",
    "?q=error:customer",
    "?q=label:team",  # 100,000 threads
    "?q=label:team=t20",  # 20,000
    "?q=customer",  # 750,000
    "?q=ord",  # the beginning of a word that 250,000 have
    "?q=customer+777777",  # one
    "?q=state.order:777777",  # one
    "?q=state.customer:c77",  # 1,000
    "?q=state.region:north",  # 250,000
)
# Lists beside the board, at their first page.
LISTS = (
    *(f"approvals/?box={box}" for box in ("mine", "open", "due", "high")),
    *(f"approvals/?box=open&sort={order}" for order in ("deadline", "age", "risk")),
    "approvals/?agent=bench-inbox",
    "approvals/?q=order",
    "incidents/",
    "incidents/?state=all",
    "views/",
)
# Of an auditor.
RECORDS = (
    *(f"admin/search/?{query}" for query in ("", "kind=decision,approval", "tool=refund.pay")),
    "admin/search/?agent=bench-inbox",
    *(f"admin/checkpoints/{table}/" for table in ("thread", "event", "activity")),
    *(f"admin/approvals/{table}/" for table in ("approval", "decision")),
)
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
    boards = ["", *(f"?status={status}" for status in LISTED), *FILTERS]
    boards += [f"?status={status}&after={after}" for status, _, after in places(raw)]
    user = auditor()
    pages = dict(looked_at(user, boards, LOOKS))
    measured.values["html_kb"] = max(size for _, _, size in pages.values()) / 1e3
    pages |= dict(looked_at(user, (*LISTS, *RECORDS), LOOKS))
    measured.values["list_p95_ms"] = max(p95 for p95, _, _ in pages.values())
    measured.details["pages"] = {
        address.partition("&after=")[0] + ("&after=..." if "after" in address else ""): {
            "p95_ms": round(p95, 1),
            "p50_ms": round(p50, 1),
            "html_kb": round(size / 1e3, 1),
        }
        for address, (p95, p50, size) in pages.items()
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


def overviews() -> dict[str, float]:
    """{period: the median of an overview of it in ms}, once the past is added up."""
    while store.fold_due():
        pass
    addresses = [f"overview/?period={period}" for period in PERIODS]
    return {
        address.rpartition("=")[2]: p50
        for address, (_, p50, _) in looked_at(inbox.reviewer(), addresses, LOOKS)
    }


def grown(raw: Raw, few: int, many: int, measured: Measured) -> None:
    """Look at the overview with few threads and, once the others are there, with many."""
    fill(raw, few)
    connection.close()  # its plans were made for empty tables
    before = overviews()
    fill(raw, many - few, first=few)
    raw.execute("DELETE FROM gp_folded_unit")  # their days have other figures now
    connection.close()
    after = overviews()
    measured.values["overview"] = max(after[period] / before[period] for period in PERIODS)
    measured.details["overview_ms"] = {
        period: [round(before[period], 1), round(after[period], 1)] for period in PERIODS
    }


def measure(bench: Bench, scale: float) -> Measured:
    """Fill the bench's database, which nothing else is measured on afterwards, and look."""
    threads, few, many = (int(n * scale) for n in (THREADS, *GROWN))
    growth = Measured({})
    with bench.connect() as raw:
        began = time.monotonic()
        grown(raw, few, many, growth)
        fill(raw, threads - many, first=many)
        connection.close()
        filled = time.monotonic() - began
        measured = figures(raw)
        events = _one(raw, "SELECT count(*) FROM gp_event")
    measured.values |= growth.values
    measured.details |= growth.details
    measured.details |= {"threads": threads, "events": events, "filling_s": round(filled)}
    return measured
