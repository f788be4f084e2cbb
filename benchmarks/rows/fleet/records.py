"""`python -m benchmarks.rows.fleet.records [--threads N] [--export N]`: the record of many threads.

One JSON line per question, in the form of the budget's rows: a page of answers as an auditor asks
for it, at the newest events and further on, beside a raw read of as many events by an index. Then
an export of so many events: events per second, seconds to the first byte and to the first rows, and
the memory that it takes.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ... import inbox, servers
from ...ground import median, percentile, workspace
from ...report import dumped, tidy
from .fill import EVENTS, Raw, fill

PAGE_MS, MEMORY_MIB = 100, 128
LOOKS = 20
_PLAIN: Final = (
    "SELECT * FROM gp_event WHERE workspace_id = %s AND kind = ANY(%s) ORDER BY at DESC LIMIT 50"
)


line = partial(inbox.line, row="records")


def questions(raw: Raw) -> dict[str, Mapping[str, str]]:
    """{what is asked: the filters of the page}."""
    [(thread, day)] = raw.execute(
        "SELECT id::text, (at - interval '1 day')::date::text FROM bench_thread "
        "WHERE n = (SELECT max(n) / 2 FROM bench_thread)"
    ).fetchall()
    return {
        "the newest that is no step": {},
        "decisions": {"kind": "decision,approval"},
        "one thread": {"thread": thread},
        "an agent of few threads": {"agent": "bench-inbox"},
        "one tool": {"tool": "refund.pay"},
        "up to a day in the middle": {"until": day},
        "a text that few have": {"q": "order 777777"},
        "steps of all kinds": {"kind": "checkpoint"},
        "a verdict that nobody gave": {"decision": "reject"},
        "a payee that nobody pays": {"payee": "Nobody & Sons"},
    }


def searches(raw: Raw, user: Any) -> Iterator[dict[str, Any]]:
    """The 95th percentile of each question, on its first page and on the tenth."""
    from dashboard.identity.permissions import actor_of
    from dashboard.records import search as audit

    who = actor_of(user)
    plain = median(
        [
            _ms(lambda: raw.execute(_PLAIN, (workspace(), ["approval.decided"])).fetchall())
            for _ in range(5)
        ]
    )
    for what, filters in questions(raw).items():
        cursor, pages = "", 0
        while pages < 9 and (page := audit.ask(who, filters, cursor=cursor)).next_cursor:
            cursor, pages = page.next_cursor, pages + 1
        first = [_ms(lambda f=filters: audit.ask(who, f)) for _ in range(LOOKS)]  # type: ignore[misc]
        later = [
            _ms(lambda f=filters, c=cursor: audit.ask(who, f, cursor=c))  # type: ignore[misc]
            for _ in range(LOOKS)
        ]
        yield line(
            f"search of the record, {what}",
            max(percentile(first, 0.95), percentile(later, 0.95)),
            "ms",
            plain,
            budget=PAGE_MS,
            first_p50_ms=median(first),
            later_p50_ms=median(later),
            pages_before=pages,
        )


def exports(user: Any, events: int) -> Iterator[dict[str, Any]]:
    """An export of so many events of all kinds, sent as a download is; its speed and memory."""
    from dashboard.board.filters.records import EVERYTHING
    from dashboard.identity.permissions import actor_of
    from dashboard.records.export import export_records

    who = actor_of(user)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    part = export_records(who, {"kind": EVERYTHING}, limit=events)
    size, reached = 0, list[float]()
    for chunk in part.chunks():
        size += len(chunk)
        if chunk and len(reached) < 2:
            reached.append(time.perf_counter() - began)
    seconds = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    made = part.exported
    facts = {"events": made.rows, "logs": made.logs, "megabytes": size / 1e6}
    yield line("export, events per second", made.rows / seconds, "events per second", **facts)
    yield line("export, seconds to the first byte", reached[0], "s", **facts)
    yield line("export, seconds to the first rows", reached[1], "s", **facts)
    yield line("export, memory it takes", grown, "MiB", budget=MEMORY_MIB, **facts)


def _ms(call: Any) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def auditor() -> Any:
    """A user who may search and export."""
    from checkpoints import store

    user = inbox.reviewer()
    store.grant(workspace(), user.pk, "auditor", actor="bench:1")
    return user


def measure(raw: Raw, events: int) -> Iterator[dict[str, Any]]:
    """All figures, on threads that stand there."""
    user = auditor()
    yield from searches(raw, user)
    yield from exports(user, events)


def main(arguments: Sequence[str]) -> int:
    """Fill, measure, print a line per figure; 1 if one is not ok."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows.fleet.records")
    parser.add_argument("--threads", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--export", type=int, default=1_000_000, metavar="N")
    value = parser.parse_args(arguments)
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    good = True
    with servers.bench() as bench, bench.connect() as raw:
        fill(raw, value.threads)
        for item in measure(raw, min(value.export, value.threads * EVENTS)):
            good = good and item["ok"]
            print(dumped({k: tidy(v) for k, v in item.items()}), file=answers, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
