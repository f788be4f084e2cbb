"""`python -m benchmarks.turns [--turns N]`: a turn of an ephemeral thread, from lease to end.

The slot's own loop works in this process, without Celery, on chats of ten messages of 0.5 KB each;
an INSERT of the bytes of the two events of a turn is made in between. Prints medians and p99 in
milliseconds at both flush times. Exit code 1 where the median is beyond 1.5 ms and the flush.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from uuid import UUID

from . import servers
from .budgets import F2_MS
from .ground import median, percentile, start

LIMIT_MS = 1.5
TURNS_OF_A_CHAT = 10
MESSAGE = {"role": "user", "content": 45 * "many words "}
EVENT = '{"text": "' + 200 * "x" + '"}'


def turns(bench: servers.Bench, number: int) -> tuple[list[float], list[float]]:
    """(seconds of each turn, seconds of each INSERT beside it)."""
    from checkpoints.ephemeral import copies
    from checkpoints.states import Status
    from workers.slot import loop
    from workers.slot.claims import take

    from .rows.baseline import RawInserts

    took: list[float] = []
    inserts: list[float] = []
    agents = loop.agents()
    raw = RawInserts(bench, delta="{}", events=(EVENT, EVENT), rest=400)

    def turn(thread: UUID) -> float:
        began = time.perf_counter()
        work = take(thread, owner="worker:bench:1:00000000", agents=agents)
        assert work is not None
        loop.work_on(work)
        seconds = time.perf_counter() - began
        assert work.status is Status.SUCCEEDED, work.status
        return seconds

    try:
        while len(took) < number:
            thread = start("bench-chat", messages=[MESSAGE])
            turn(thread)  # the first one of a chat: its lease is another
            for _ in range(TURNS_OF_A_CHAT - 1):
                copies.send(thread, queue="gatepost", message=MESSAGE, actor="bench:1", ttl=600)
                took.append(turn(thread))
                inserts.append(raw.timed_insert())
    finally:
        raw.close()
    return took, inserts


def main() -> int:
    """Measure at both flush times; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--turns", type=int, default=900)
    number = parser.parse_args().turns
    servers.clean_environment()
    os.environ["GATEPOST_AGENTS"] = "benchmarks.agents.chat"
    os.environ["GATEPOST_SHIPPED_AGENTS"] = "false"
    good = True
    with servers.bench() as bench:
        from workers.slot import loop

        loop.agents()
        turns(bench, number // 10)
        for flush in (0.0, F2_MS):
            bench.flush_takes(flush)
            took, inserts = turns(bench, number)
            limit = LIMIT_MS + flush
            good = good and median(took) * 1000 <= limit
            for what, values in (("turn", took), ("INSERT", inserts)):
                p50, p99 = median(values) * 1000, percentile(values, 0.99) * 1000
                most = f", at most {limit:.1f} ms" if what == "turn" else ""
                print(f"flush {flush:.0f} ms  {what:<7} p50 {p50:6.2f} ms{most}  p99 {p99:6.2f} ms")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
