"""Row 21: the page of a thread of 10,000 steps (5 MB of state) beside that of one of 100 steps.

The long one is looked at 300 times over HTTP, while it makes a step before each third look and
sockets follow it. Then both are asked for in turn, on each tab. The memory of the web process is
read afterwards (its proportional share, Linux only).
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from uuid import UUID

import httpx

from .. import inbox, inside, parts
from ..agents import growth
from ..ground import median
from ..report import Measured
from ..servers import Bench
from .fleet.sockets import Watchers

SHORT, LONG, SIZE = 100, 10_000, 500
ROUNDS, BEFORE, LOOKS, EVERY = 40, 5, 300, 3
TABS = ("changes", "state", "anatomy")
REGIONS = ("thread-head", "thread-state", "thread-artifacts", "thread-conversation")


def look(client: httpx.Client, thread: UUID, number: int, tab: str = TABS[0]) -> float:
    """Milliseconds of a page, which shows this checkpoint."""
    began = time.perf_counter()
    page = client.get(f"/threads/{thread}/", params={"tab": tab})
    took = (time.perf_counter() - began) * 1e3
    if page.status_code != 200 or f">#{number}<" not in page.text:
        raise RuntimeError(f"{page.status_code}: the page of step {number}")
    return took


def memory_mb(pid: int) -> float:
    """The proportional share of memory of a process."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.findall(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)[0]) / 1024


def measure(bench: Bench, scale: float) -> Measured:
    """The ratio of the medians on the tab where it is largest; the memory after all looks."""
    measured, steps = Measured({}), max(1_000, int(LONG * scale))
    looks = max(30, int(LOOKS * scale))
    more = looks // EVERY
    short = inside.play(growth, SHORT, input={"steps": SHORT, "size": SIZE})
    # It ends with its last step: a thread of more than 10,000 is stopped.
    long = inside.play(growth, steps - more, input={"steps": steps, "size": SIZE})
    inside.analyse()
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    with parts.web_process(bench) as (port, pid):
        cookie = inbox.cookie()
        base, headers = f"http://127.0.0.1:{port}", {"Cookie": cookie}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as web:
            frames = _watched(web, Watchers(port, cookie, 2, long, REGIONS), long, steps, looks)
            for round_, tab in product(range(BEFORE + ROUNDS), TABS):
                for number, thread in ((SHORT, short), (steps, long)):
                    took = look(web, thread, number, tab)
                    if round_ >= BEFORE:
                        times[tab, number].append(took)
        measured.values["memory_mb"] = memory_mb(pid)
    if frames < more // 4:
        raise RuntimeError(f"{frames} frames came of {more} steps")
    p50 = {at: median(took) for at, took in times.items()}
    ratios = {tab: p50[tab, steps] / p50[tab, SHORT] for tab in TABS}
    slowest = max(TABS, key=ratios.__getitem__)
    measured.values["ratio"] = ratios[slowest]
    measured.baselines["ratio"] = round(p50[slowest, SHORT], 1)
    measured.details |= {
        "ratios": {tab: round(ratio, 2) for tab, ratio in ratios.items()},
        "p50_ms": round(p50[slowest, steps], 1),
        "steps": steps,
        "looks": looks,
        "frames": frames,
    }
    return measured


def _watched(web: httpx.Client, watchers: Watchers, thread: UUID, steps: int, looks: int) -> int:
    """Look at a thread while it makes its last steps and two sockets follow it; frames of one."""
    more = looks // EVERY
    try:
        for n in range(looks):
            if n % EVERY == 0 and n // EVERY < more:
                inside.go_on(growth, thread, 1)
            look(web, thread, steps - more + min(n // EVERY + 1, more))
        return len(watchers.report()["frames"])
    finally:
        watchers.end()
