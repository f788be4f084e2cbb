"""`python -m tests.faults.chaos [--hosts N] [--minutes M | --threads N] [--seed S] [--keep]`.

The table goes to stderr, one line of JSON to stdout; the exit code is that of the verdict, which
is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from . import tasks
from .disturbances import waiting_steps
from .ground import COUNTS, Ground, environment, ground, pay_before, slow_down
from .monkey import Monkey
from .people import People
from .sizes import Size

MORE = 1_000  # tasks that the people may begin so that there is something to strike
LIMIT = 4.0  # times the time that it should take: then it is over, whatever has ended


def chaos(base: Ground, size: Size, seed: int, limit: float) -> dict[str, Any]:
    """Work and strike; what the driver knows of it."""
    plan = size.faults.shuffled(seed)
    payload: dict[str, Any] = {"threads": size.threads, "plan": asdict(size.faults), "seed": seed}
    payload |= {"hosts": 1, "clocks": {}}
    if base.machines is not None:
        clocks = {worker.name: base.machines.off.get(worker.name, 0) for worker in base.workers}
        payload |= {"hosts": len(base.workers), "clocks": clocks}
        payload["clock"] = time.time() - time.monotonic()
    began, trouble = time.monotonic(), ""
    for path in (
        *(base.home / name for name in ("acks.jsonl", "strikes.jsonl", "waited.jsonl")),
        base.data / COUNTS,
    ):
        path.touch()
    # A few more: a wrong end is no full thread, and one in a thousand is within the budget.
    goal = tasks.needed(size.threads + 1 + size.threads // 500)
    pay_before(base.bank.address, goal + MORE)
    slow_down(base.bank.address)
    people = People(base, base.home / "acks.jsonl", goal)
    files = base.home / "strikes.jsonl", base.home / "waited.jsonl"
    monkey = Monkey(base, people, plan, seed, *files)
    try:
        with people:
            monkey.work(goal, began + limit)
    except Exception as error:
        traceback.print_exc()
        trouble = f"{type(error).__name__}: {error}"
    if not trouble and not people.done:
        trouble = f"{people.going} threads had not ended after {limit:.0f} s"
    # All quiet before it is judged; the servers stay.
    for part in (*base.workers, *base.webs, base.bank):
        part.kill()
    if base.machines is not None:
        base.machines.fetch(base.data / "artifacts")
    return payload | {
        "seconds": round(time.monotonic() - began),
        "trouble": trouble,
        "gave_up": base.gave_up,
        "hot_threads": people.begun // tasks.HOT_EVERY,
        "left_waiting": len(waiting_steps(base.places)),
        "missed": monkey.missed,
        "answers": dict(Counter(people.answers)),
    }


def verified(base: Ground) -> dict[str, Any]:
    """What `./manage.py verify` says of all logs."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "verify", "--json"],
        env=base.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        payload = json.loads(done.stdout)
    except ValueError:
        return {"broken": [done.stderr[-500:]], "verified": "not verified"}
    broken = [f"{one['of']} {one['id']}: {one['what']}" for one in payload["broken"]]
    return {"broken": broken, "verified": f"{payload['events']:,} verified"}


def main(arguments: Sequence[str]) -> int:
    """Everything; 0 when the verdict is good."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.chaos", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--minutes", type=float, help="about so long instead of the whole")
    size.add_argument("--threads", type=int, help="so many threads, and as many fewer strikes")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--keep", action="store_true", help="leave the folder with all logs")
    parser.add_argument(
        "--hosts",
        type=int,
        default=1,
        help="so many worker hosts and two web hosts, nothing shared",
    )
    value = parser.parse_args(arguments)
    if value.hosts > 1:
        from .machines import refused  # with the libraries of object stores

        if why := refused():
            parser.error(why)
    elif value.hosts < 1:
        parser.error("--hosts takes 1 or more")
    wanted = Size.of(minutes=value.minutes, threads=value.threads, hosts=value.hosts)
    print(f"seed {value.seed}: {wanted}", file=sys.stderr, flush=True)
    with ground(keep=value.keep, hosts=value.hosts) as base:
        payload = chaos(base, wanted, value.seed, LIMIT * wanted.seconds)
        payload |= verified(base)
        (base.home / "told.json").write_text(json.dumps(payload))
        code = subprocess.run(
            [sys.executable, "-m", "tests.faults.chaos.verdict", str(base.home), base.address],
            env=environment(base.data),
            check=False,
        ).returncode
        if value.keep:
            print(f"kept: {base.home}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
