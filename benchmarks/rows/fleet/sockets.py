"""Row 12: 1,000 sockets of one web server that follow one thread; one of them does not read.

The thread gets another title each time. A frame is timed from its event's time in the database to
its arrival in the client's process, over all sockets; beside it stands a server that only writes a
ready frame of as many bytes to as many sockets at rest. Frames are read and the title looked for in
each. Deliveries are counted while reports of progress come as fast as the server takes them: those
have no pace of their own, while frames of a topic come 20 times a second at most.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django.db import connection

from checkpoints import store
from dashboard.operate.embedded.process.folders import folders
from dashboard.wire.progress import publish_progress

from ... import inbox, parts
from ...ground import percentile, workspace
from ...report import Measured
from ...servers import Bench

SOCKETS, COMMITS, COUNTED, SATURATED_SECONDS = 1_000, 60, 10, 5.0
PAUSE = 0.4  # seconds between two commits: each finds the hub at rest
REGIONS = ("thread-head", "thread-events")
_NUMBERS = itertools.count(1000)


class Watchers:
    """A process with so many sockets that follow a thread, one of which does not read."""

    def __init__(
        self,
        port: int,
        cookie: str,
        sockets: int,
        thread: UUID,
        regions: Sequence[str] = REGIONS,
    ) -> None:
        topic = f"thread:{thread}"
        join = {"type": "join", "regions": [{"id": r, "topic": topic} for r in regions]}
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.rows.fleet.watchers", str(port), cookie),
                *(str(sockets), json.dumps(join | {"topics": {topic: 0}, "inflates": True})),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.opened = self._line()
        self.bytes = 0  # that came with the last commits

    def report(self) -> dict[str, Any]:
        """Messages since the last report."""
        assert self.process.stdin is not None
        self.process.stdin.write("report\n")
        self.process.stdin.flush()
        return self._line()

    def end(self) -> None:
        """Close all sockets."""
        self.process.kill()
        self.process.wait()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the watchers' process ended")
        return cast(dict[str, Any], json.loads(line))


def measure(bench: Bench, scale: float) -> Measured:
    """Latency, deliveries at saturation, reads per hint against those for one socket."""
    measured, sockets = Measured({}), max(10, int(SOCKETS * scale))
    commits = max(10, int(COMMITS * min(1.0, scale * 2)))
    os.environ["GATEPOST_SOCKETS_PER_LOGIN"] = str(sockets + 10)
    thread = inbox.waiting(inbox.version(), 0).thread
    with parts.web(bench) as port:
        cookie = inbox.cookie()
        alone = Watchers(port, cookie, 2, thread)
        try:
            _committed(thread, alone, 3)
            few = _statements(bench, thread)
        finally:
            alone.end()
        watchers = Watchers(port, cookie, sockets, thread)
        try:
            _committed(thread, watchers, 3)  # every page is warm
            frames = _committed(thread, watchers, commits)
            each = watchers.bytes / (commits * (sockets - 1))
            many = _statements(bench, thread)
            rate, details = _saturated(thread, watchers)
            closed = watchers.report()["closed"]
        finally:
            watchers.end()
    measured.baselines["deliveries"], measured.baselines["p50_ms"] = _plain(
        sockets, thread, round(each)
    )
    ms = [(at - begun) * 1e3 for begun, arrived in frames for at in arrived]
    expected = commits * (sockets - 1)
    if len(ms) < 0.9 * expected or closed:
        raise RuntimeError(f"{len(ms)} of {expected} frames came, {closed} sockets were closed")
    bare = measured.baselines["p50"] = measured.baselines.pop("p50_ms")
    p50, p99 = percentile(ms, 0.5), percentile(ms, 0.99)
    measured.values = {
        "p50": p50 / bare,
        "p99_more_ms": p99 - 4 * bare,
        "deliveries": rate / measured.baselines["deliveries"],
        "reads": many / few,
        "bytes": each,
    }
    measured.baselines["reads"] = few
    first = [(min(arrived) - begun) * 1e3 for begun, arrived in frames if arrived]
    measured.details |= {
        "sockets": sockets,
        "commits": commits,
        "frames": len(ms),
        "p50_ms": round(p50, 1),
        "p99_ms": round(p99, 1),
        "deliveries_per_second": round(rate),
        "first_socket_ms": {
            "best": round(min(first), 1),
            "p50": round(percentile(first, 0.5), 1),
        },
        "best_ms": round(min(ms), 1),
        "statements_per_commit": round(many, 1),
        **details,
    }
    return measured


def _committed(thread: UUID, watchers: Watchers, commits: int) -> list[tuple[float, list[float]]]:
    """(time of the event, arrivals) of each commit; raises where a frame lacks its title."""
    watchers.report()
    for _ in range(commits):
        _commit(thread)
        time.sleep(PAUSE)
    time.sleep(1.0)
    seen = watchers.report()
    watchers.bytes = seen["bytes"]
    # Read when all is over: a statement beside the hub's own would take its processor.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq, extract(epoch FROM at)::float8, data ->> 'title' FROM gp_event "
            "WHERE thread_id = %s AND kind = 'thread.renamed' ORDER BY seq DESC LIMIT %s",
            (thread, commits),
        )
        renamed = cursor.fetchall()
    for seq, _, title in renamed:
        html = seen["html"].get(str(seq), [])
        if not all(title in one for one in html):
            raise RuntimeError(f"a frame of event {seq} does not show {title!r}")
    return [(begun, seen["frames"].get(str(seq), [])) for seq, begun, _ in renamed]


def _statements(bench: Bench, thread: UUID) -> float:
    """Statements per commit that the web server sends, counted in the log of PostgreSQL."""
    log = folders(bench.data).logs / "postgres.log"
    with bench.connect() as server:
        mine = connection.connection.info.backend_pid
        for value in ("'all'", "'none'"):
            server.execute(f"ALTER SYSTEM SET log_statement = {value}")
            server.execute("ALTER SYSTEM SET log_line_prefix = '%p;'")
            server.execute("SELECT pg_reload_conf()")
            time.sleep(0.5)
            if value == "'all'":
                begin = log.stat().st_size
                for _ in range(COUNTED):
                    _commit(thread)
                    time.sleep(PAUSE)
    lines = log.read_bytes()[begin:].decode(errors="replace").splitlines()
    own = f"{mine};"
    return sum("LOG:  execute" in one and not one.startswith(own) for one in lines) / COUNTED


def _commit(thread: UUID) -> None:
    """Give the thread a title that it never had, which a thread in any status takes."""
    store.rename(thread, title=f"Order {next(_NUMBERS)}, corrected", actor="bench:1")


def _saturated(thread: UUID, watchers: Watchers) -> tuple[float, dict[str, Any]]:
    """(messages a second that sockets received, details) while progress is reported on and on."""
    watchers.report()
    began, sent = time.monotonic(), 0
    while time.monotonic() - began < SATURATED_SECONDS:
        publish_progress(thread, workspace(), {"done": sent, "total": 1_000_000, "text": "going"})
        sent += 1
        time.sleep(0.002)
    time.sleep(0.5)
    seen = watchers.report()
    seconds = max(seen["last"] - seen["first"], 0.001)
    rate = seen["progress"] / seconds
    return rate, {"progress_sent_per_second": round(sent / SATURATED_SECONDS)}


def _plain(sockets: int, thread: UUID, size: int) -> tuple[float, float]:
    """(messages a second, ms to half of the sockets at rest) of a server that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.rows.fleet.plain", str(sockets)]
    server = subprocess.Popen(
        [*command, str(SATURATED_SECONDS), str(size)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        watchers = Watchers(int(server.stdout.readline()), "a=b", sockets, thread)
        try:
            server.stdout.readline()
            seen = watchers.report()
            rate = float(seen["progress"] / max(seen["last"] - seen["first"], 0.001))
            begun = json.loads(server.stdout.readline())
            frames = watchers.report()["frames"]
            ms = [(at - begun[n]) * 1e3 for n in begun for at in frames[n]]
            return rate, percentile(ms, 0.5)
        finally:
            watchers.end()
    finally:
        server.kill()
        server.wait()
