"""`python -m benchmarks.wasted_work [--seed S]`: what resuming spares of what faults cost.

Each task is worked twice on the same engine, in real workers: `resume` goes on from the record;
`restart` has saving off, that is at the fault its thread is cancelled and the task begins again
from its input. 15 to 30 % of the tasks meet one fault at a step drawn uniformly: 429, 503, a
time-out, or kill -9 of the process that works. Calls and tokens are counted by the server that is
called, not by the engine. Waste is what was called beyond what the task needs without a fault.

One JSON line per length (row B05, at 20 steps with the budget), one per shipped agent (B05, see
`shipped_trials`), and one that compares what the product says it has saved with what restarting
really cost (row A36).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.faults.charged_server import SERVER, Fault, charging
from benchmarks.faults.shipped_trials import SHIPPED, Shipped
from benchmarks.faults.trials import ARMS, Field, drawn

from . import parts, servers
from .report import dumped, tidy

LENGTHS = (5, 20, 100)  # steps
JUDGED, BUDGET = 20, 60.0  # at so many steps at least so many per cent of the waste are spared
TASKS = {5: 120, 20: 100, 100: 40}
ARTICLE = 82.0  # per cent less waste, as the article claims; not measured here
AGENTS = "benchmarks.agents.waste,benchmarks.agents.shipped"
LEASE_SECONDS, SWEEP_SECONDS = 3.0, 0.25


def spared(resumed: float, restarted: float) -> float:
    """Per cent of what restarting wastes."""
    return 100.0 * (1 - resumed / restarted) if restarted > 0 else 0.0


def line(
    steps: int, field: Field, faults: dict[str, Fault], seed: int, *, whole: bool = True
) -> dict[str, Any]:
    """The line of one length or agent; judged by the worst of calls, tokens and what it adds."""
    (calls, tokens), (all_calls, all_tokens) = field.wasted("resume"), field.wasted("restart")
    of_calls, of_tokens = spared(calls, all_calls), spared(tokens, all_tokens)
    shares = [of_calls, of_tokens]
    if all_own := field.own_wasted("restart"):
        shares.append(spared(field.own_wasted("resume"), all_own))
    value = min(shares)
    tasks = len(field.trials) // len(ARMS)
    budget = BUDGET if field.name == str(JUDGED) else None
    called = f"{steps} steps" if field.name == str(steps) else f"{field.name}, {steps} steps"
    met_all = field.met.total() == len(ARMS) * len(faults)
    return {
        "row": "B05" if whole else None,
        "what": f"waste spared by resuming, {called}",
        "value": tidy(value),
        "unit": "% of what restarting wastes",
        "baseline": all_calls,
        "ratio": tidy(calls / all_calls) if all_calls else None,
        "budget": budget,
        "ok": met_all and field.right and all_calls > 0 and value >= (budget or 0.0),
        "article": ARTICLE,
        "steps": steps,
        "tasks": tasks,
        "seed": seed,
        "faulty": len(faults),
        "faulty_share": tidy(len(faults) / tasks),
        "fault_steps": sorted(fault.step for fault in faults.values()),
        "fault_kinds": dict(Counter(fault.kind for fault in faults.values())),
        "met": dict(field.met),
        "calls": {"needed": 2 * steps * tasks, "wasted": calls, "wasted_by_restart": all_calls,
                  "spared_percent": tidy(of_calls)},
        "tokens": {"wasted": tokens, "wasted_by_restart": all_tokens,
                   "spared_percent": tidy(of_tokens)},
        **field.more(),
    }  # fmt: skip


def accounted(fields: Sequence[Field], seed: int, *, whole: bool = True) -> dict[str, Any]:
    """What the product says it saved against what the same faults cost without saving.

    It may say less (a call that was tried again in place is not counted), never more.
    """
    saved = [sum(item) for item in zip(*(f.saved_as_shown() for f in fields), strict=True)]
    cost = [sum(item) for item in zip(*(f.wasted("restart") for f in fields), strict=True)]
    cost[0] += sum(f.own_wasted("restart") for f in fields)
    return {
        "row": "A36" if whole else None,
        "what": "tokens that threads say they saved, against those that restarting cost",
        "value": saved[1],
        "unit": "tokens",
        "baseline": cost[1],
        "ratio": tidy(saved[1] / cost[1]) if cost[1] else None,
        "budget": cost[1],
        "ok": 0 < saved[1] <= cost[1] and 0 < saved[0] <= cost[0],
        "calls_said": saved[0],
        "calls_of_restart": cost[0],
        "seed": seed,
    }


def measure(
    seed: int,
    scale: float,
    lengths: Sequence[int] = LENGTHS,
    agents: Sequence[str] = tuple(SHIPPED),
) -> Iterator[dict[str, Any]]:
    """The lines; starts servers and a worker, and ends them.

    Less than all lengths, agents and tasks is a quick look: its lines name no row.
    """
    fields: list[Field] = []
    whole = scale >= 1 and set(LENGTHS) <= set(lengths) and set(SHIPPED) <= set(agents)

    def met(name: str, fault: Fault) -> None:
        fields[-1].meets(name, fault)

    os.environ["GATEPOST_LEASE_SECONDS"] = str(LEASE_SECONDS)
    os.environ["GATEPOST_SWEEP_SECONDS"] = str(SWEEP_SECONDS)
    os.environ["GATEPOST_UNDO_WINDOWS"] = "0,0,0"  # what people may think over is not measured
    with charging(met) as server, servers.bench() as bench:
        os.environ[SERVER] = server.address
        with parts.bank(bench) as book, parts.worker(bench, agents=AGENTS):
            for steps in lengths:
                tasks = max(4, round(TASKS[steps] * scale))
                faults = drawn(seed, steps, tasks)
                fields.append(Field(server, steps, tasks, faults))
                fields[-1].work()
                yield line(steps, fields[-1], faults, seed, whole=whole)
            for name in agents:
                kind = SHIPPED[name]
                tasks = max(4, round(kind.tasks * scale))
                faults = drawn(seed, kind.steps, tasks, name)
                fields.append(Shipped(server, name, tasks, faults, book))
                fields[-1].work()
                yield line(kind.steps, fields[-1], faults, seed, whole=whole)
            yield accounted(fields, seed, whole=whole)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if a line is not ok."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wasted_work", description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the usual tasks")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="steps, such as 5")
    parser.add_argument("--agents", default=",".join(SHIPPED), help="shipped agents; may be empty")
    value = parser.parse_args(arguments)
    servers.clean_environment()
    answers, sys.stdout = sys.stdout, sys.stderr
    good = True
    lengths = [int(n) for n in value.lengths.split(",") if n]
    agents = [name for name in value.agents.split(",") if name]
    for item in measure(value.seed, value.scale, lengths, agents):
        good = good and item["ok"]
        print(dumped(item), file=answers, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
