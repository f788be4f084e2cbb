"""Several web processes, and people at both of them who act at the same moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from approvals.queries import ApprovalRow
from tests.faults.bench import Case, ask, wait_until


@dataclass(frozen=True, slots=True)
class Meeting:
    """What was answered to those who asked together, and whether all of them truly met."""

    answers: tuple[httpx.Response, ...]
    met: bool

    @property
    def codes(self) -> list[int]:
        return [answer.status_code for answer in self.answers]

    @property
    def summary(self) -> list[str]:
        return [f"{answer.status_code} {answer.text[:300]}" for answer in self.answers]


def meet(
    pool: ThreadPoolExecutor,
    requests: Sequence[Callable[[], httpx.Response]],
    *,
    first_waits: float = 0.0,
) -> Meeting:
    """Let all of these requests start together; the first may start so many seconds later."""
    start = threading.Barrier(len(requests))

    def one(
        request: Callable[[], httpx.Response], seconds: float
    ) -> tuple[httpx.Response, float, float]:
        start.wait(20)
        time.sleep(seconds)
        began = time.monotonic()
        answer = request()
        return answer, began, time.monotonic()

    done = list(pool.map(one, requests, [first_waits] + [0.0] * (len(requests) - 1)))
    met = max(began for _, began, _ in done) < min(ended for _, _, ended in done)
    return Meeting(tuple(answer for answer, _, _ in done), met)


def statuses(cases: Sequence[Case]) -> Counter[str]:
    """How many of the threads have which status."""
    rows = ask(
        "SELECT status, count(*) FROM gp_thread WHERE id = ANY(%s) GROUP BY 1",
        [case.id for case in cases],
    )
    return Counter(dict(rows))


def all_are(cases: Sequence[Case], *wanted: str, seconds: float = 90) -> None:
    """Wait until every case has one of the statuses; one query for all of them."""

    def there() -> bool:
        result = statuses(cases)
        return sum(result[one] for one in wanted) == len(cases)

    wait_until(there, seconds=seconds, what=lambda: statuses(cases))


def events(cases: Sequence[Case], kind: str) -> Counter[UUID]:
    """{thread: how many events of that kind}."""
    rows = ask(
        "SELECT thread_id, count(*) FROM gp_event WHERE kind = %s AND thread_id = ANY(%s) "
        "GROUP BY 1",
        kind,
        [case.id for case in cases],
    )
    return Counter(dict(rows))


def path_of(row: ApprovalRow) -> str:
    """Where a request is decided."""
    return f"/approvals/{row.id}/decide/"


def verdict_body(row: ApprovalRow, verdict: str = "approve", **more: Any) -> dict[str, Any]:
    """The body of a decision on what was seen."""
    return {"verdict": verdict, "proposal_hash": row.proposal_hash, "comment": "seen"} | more


def type_of(answer: httpx.Response) -> str:
    """The last word of a problem's type."""
    return str(answer.json().get("type", "")).rpartition(":")[2]
