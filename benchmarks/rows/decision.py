"""Row 8: from a person's decision to the next line, over HTTP with a session, nothing resident."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from uuid import UUID

from django.db import connection

from approvals import queries as approvals
from checkpoints.states import Status

from .. import parts
from ..budgets import F2_MS
from ..ground import percentile, start, wait_for, workspace
from ..report import Measured
from ..servers import Bench
from .start import event_time, head_state

DECISIONS = 60
# uvicorn closes a connection on which nothing came for five seconds.
IDLE_SECONDS = 3.0


class Reviewer:
    """Somebody signed in through the login page, on one warm connection."""

    def __init__(self, port: int) -> None:
        from django.contrib.auth import get_user_model

        from checkpoints import store

        user = get_user_model().objects.create_user(f"reviewer-{port}", password="bench bench 1")
        store.grant(workspace(), user.pk, "reviewer", actor="bench:1")
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._used = time.monotonic()
        self._cookies: dict[str, str] = {}
        self._send("GET", "/login/")
        form = (
            f"username=reviewer-{port}&password=bench+bench+1"
            f"&csrfmiddlewaretoken={self._cookies['csrftoken']}"
        )
        status, text = self._send(
            "POST", "/login/", form, {"Content-Type": "application/x-www-form-urlencoded"}
        )
        if status != 302 or "sessionid" not in self._cookies:
            raise RuntimeError(f"signing in answered {status}: {text[:200]}")

    def decide(self, approval: Any, verdict: str, args: Any = None) -> float:
        """Decide; the time at which the request was sent."""
        body = {"verdict": verdict, "proposal_hash": approval.proposal_hash}
        if args is not None:
            body["args"] = args
        self._warm()
        sent = time.time()
        status, text = self._send(
            "POST",
            f"/api/v1/approvals/{approval.id}/decide/",
            json.dumps(body),
            {
                "Content-Type": "application/json",
                "X-CSRFToken": self._cookies["csrftoken"],
            },
        )
        if status != 200:
            raise RuntimeError(f"the decision answered {status}: {text[:300]}")
        return sent

    def _warm(self) -> None:
        """Connect anew before the web server ends an idle connection; this is not timed."""
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._http.close()
            self._send("GET", "/healthz")

    def _send(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._http.request(
            method, path, body, {**(headers or {}), **({"Cookie": cookies} if cookies else {})}
        )
        answer = self._http.getresponse()
        text = answer.read().decode()
        self._used = time.monotonic()
        for header in answer.headers.get_all("Set-Cookie") or ():
            name, _, rest = header.partition("=")
            self._cookies[name] = rest.partition(";")[0]
        return answer.status, text


def held() -> int:
    """Leases, tasks at work and open transactions while threads wait.

    The sweep of the worker is seen as well when a look falls into it; what waiting threads hold is
    there at each look.
    """
    from workers.celery import app

    time.sleep(0.3)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM gp_thread WHERE lease_token IS NOT NULL) + (SELECT "
            "count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE "
            "'idle in transaction%%' AND pid <> pg_backend_pid())"
        )
        count = int(cursor.fetchone()[0])
    active = app.control.inspect(timeout=1.0).active() or {}
    return count + sum(len(tasks) for tasks in active.values())


def decided(reviewer: Reviewer, agent: str, verdict: str, args: Any) -> tuple[float, float, UUID]:
    """(seconds from the decision's event, from the request, the thread) to the next line."""
    thread = start(agent)
    wait_for(thread, Status.WAITING)
    time.sleep(0.02)
    (approval,) = approvals.for_thread(thread, open_only=True)
    sent = reviewer.decide(approval, verdict, args)
    wait_for(thread, Status.SUCCEEDED, first_after=0.02)
    continued_at = head_state(thread)["continued_at"]
    return continued_at - event_time(thread, "approval.decided"), continued_at - sent, thread


def measure(bench: Bench, scale: float) -> Measured:
    """Decisions one at a time; gates before an effect and questions in turn.

    Judged are gates, up to the first line of what was approved, which is written down as started
    before (one flush). The event of a decision is timed before its own flush, so the flush of F
    is taken off: the clock runs from the commit. At F=0 nothing is taken off.
    """
    measured = Measured({})
    with parts.worker(bench), parts.web(bench) as port:
        reviewer = Reviewer(port)
        for _ in range(parts.SLOTS * 4):
            decided(reviewer, "bench-acting", "approve", None)
            decided(reviewer, "bench-asking", "respond", "yes")
        for _ in range(3):
            wait_for(start("bench-acting"), Status.WAITING)
        measured.values["held"] = min(held() for _ in range(3))
        try:
            for name, flush in (("f0", 0.0), ("f2", F2_MS)):
                bench.flush_takes(flush)
                gates, questions = [], []
                for _ in range(max(8, int(DECISIONS * scale))):
                    gates.append(decided(reviewer, "bench-acting", "approve", None))
                    questions.append(decided(reviewer, "bench-asking", "respond", "yes"))
                after = [seconds * 1000 - flush for seconds, _, _ in gates]
                whole = [seconds * 1000 for _, seconds, _ in gates]
                measured.values[f"p50_{name}"] = percentile(after, 0.5)
                measured.values[f"p95_{name}"] = percentile(after, 0.95)
                measured.values[f"http_p50_{name}"] = percentile(whole, 0.5)
                lines = [seconds * 1000 - flush for seconds, _, _ in questions]
                measured.details[f"timing_{name}"] = {
                    "http_p95_ms": round(percentile(whole, 0.95), 2),
                    "question_p50_ms": round(percentile(lines, 0.5), 2),
                    "question_p95_ms": round(percentile(lines, 0.95), 2),
                    "best_ms": round(min(after), 2),
                    "decisions": len(gates),
                    "flush_taken_off_ms": flush,
                }
        finally:
            bench.flush_takes(0)
    return measured
