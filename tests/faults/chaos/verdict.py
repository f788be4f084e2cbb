"""`python -m tests.faults.chaos.verdict FOLDER DATABASE`: what came of it, from outside.

Reads the bank's ledger, the outbox, the published folder and the artifacts, the files of what was
acknowledged and of what struck, and the tables by plain SQL (record.py); nothing of the product is
imported. Only the hash chains are verified by the product's own command. The right end of each
thread follows from its task (rights.py). Prints a table and one line of JSON; 0 when all holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.chaos.outcomes.judge import Judge
from tests.faults.chaos.outcomes.record import Record, lines, read

from . import tasks

BUDGET = 99.9  # per cent of threads that end right; the goal is 100
SILENCE_SECONDS = 20.0
# What must have struck before the figure may stand for row A07. Of the threads those count that
# ended right after at least ten steps, two effects and a gate.
WHOLE = {
    "full threads": 1_000, "kills": 200, "stops": 20, "valkey kills": 5, "valkey flushes": 5,
    "postgres restarts": 5, "poisoned queues": 20, "frozen locks": 10, "full disks": 5,
    "clock steps": 5, "hot store kills": 5, "hot store stops": 5, "hot threads": 100,
    "hot steps seen waiting": 1_000,
}  # fmt: skip
# Strikes at one of several hosts: {kind: what is counted}, and what row B30 wants of them.
OF_HOSTS = {
    "lose_host": "hosts lost with their folders", "part_host": "hosts parted from all",
    "part_postgres": "hosts parted from PostgreSQL", "part_valkey": "hosts parted from Valkey",
    "part_files": "hosts parted from the object store", "part_web": "web hosts parted",
    "stop_web": "web hosts frozen",
}  # fmt: skip
WHOLE_OF_HOSTS = dict.fromkeys(OF_HOSTS.values(), 5)
CLOCK_SECONDS = 60.0  # to which the clocks of hosts are told apart


def still_running(database: str) -> list[str]:
    """Threads that are running, or are leased without running, now that all is quiet."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT id::text FROM gp_thread WHERE status IN ('running', 'rolling_back') "
            "OR lease_token IS NOT NULL"
        ).fetchall()
    return [row[0] for row in rows]


def of_approvals(database: str) -> list[str]:
    """Approvals with more than one decision or more than one effect."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT a.id::text FROM gp_approval a WHERE "
            "(SELECT count(*) FROM gp_decision d WHERE d.approval_id = a.id) > 1 OR "
            "(SELECT count(*) FROM gp_activity x WHERE x.approval_id = a.id) > 1"
        ).fetchall()
    return [row[0] for row in rows]


def struck(strikes: Iterable[dict[str, Any]], hosts: int = 1) -> dict[str, int]:
    """Strikes that hit while something was being worked on."""
    by_kind = Counter(strike["kind"] for strike in strikes if strike["running"] > 0)
    return {
        "kills": by_kind["kill_slot"] + by_kind["kill_worker"],
        "kills of slots": by_kind["kill_slot"],
        "kills of workers": by_kind["kill_worker"],
        "kills of the web process": by_kind["kill_web"],
        "stops": by_kind["stop_worker"],
        "valkey kills": by_kind["kill_valkey"],
        "valkey flushes": by_kind["flush_valkey"],
        "poisoned queues": by_kind["poison_queue"],
        "frozen locks": by_kind["freeze_lock"],
        "full disks": by_kind["fill_disk"],
        "hot store kills": by_kind["kill_hot"],
        "hot store stops": by_kind["stop_hot"],
        "clock steps": by_kind["step_clock"],
        "postgres restarts": by_kind["postgres_fast"] + by_kind["postgres_immediate"],
        "postgres restarts (immediate)": by_kind["postgres_immediate"],
        **({name: by_kind[kind] for kind, name in OF_HOSTS.items()} if hosts > 1 else {}),
    }


def wrong_clocks(record: Record, summary: dict[str, Any]) -> list[str]:
    """Hosts whose clocks were not off as they should, or of which no agent said the time."""
    if not summary["clocks"]:  # one host
        return []
    readings: dict[str, list[float]] = {}
    for line in record.counts:
        readings.setdefault(line["host"], []).append(line["clock"] - summary["clock"])
    return [
        f"{host} is ahead by {sorted(set(map(round, readings.get(host, []))))} s, not {off}"
        for host, off in summary["clocks"].items()
        if not readings.get(host) or any(abs(s - off) > CLOCK_SECONDS for s in readings[host])
    ]


def kept_files(home: Path) -> list[str]:
    """What hosts have left in their own data folders, where nothing may lie that counts."""
    return [str(path) for path in home.glob("hosts/*/data/**/*") if path.is_file()]


def findings(judge: Judge) -> dict[str, list[Any]]:
    """All that must not be, by what it is called."""
    return {
        "ended wrong": judge.ended_wrong(),
        "started twice": judge.started_twice(),
        "doubled under one key": judge.doubled(),
        "several keys for one place": judge.several_keys(),
        "at the bank, not on record": judge.unrecorded(),
        "calls that went wrong": judge.odd_calls(),
        "sums at the bank": judge.money(),
        "mails that must not be": judge.odd_mails(),
        "reports that must not be": judge.odd_reports(),
        "counted more than once": judge.odd_counts(),
        "files that are not what they were": judge.record.broken_files,
        "acknowledged, not there": judge.lost(),
        "steps that the hot store had, not there": judge.lost_steps(),
        "gaps in the log": judge.gaps(),
        "events that stand twice": judge.said_twice(),
        "steps that failed": judge.failed(),
        f"silent over {SILENCE_SECONDS:.0f} s": [
            s for s in judge.silences() if s[0] > SILENCE_SECONDS
        ],
        "answers 5xx that are no 503": [a for a in judge.acknowledged if a["command"] == "answer"],
    }


def judged(record: Record, hits: dict[str, int], summary: dict[str, Any], **more: Any) -> Any:
    """The line of JSON. `told` has what only the driver knows: seed, sizes, seconds, chains."""
    judge = Judge(record)
    holds = (
        findings(judge)
        | more
        | {
            "chains that do not verify": summary["broken"],
            "steps left in the hot store": [summary["left_waiting"]]
            if summary["left_waiting"]
            else [],
        }
    )
    silences = judge.silences()
    threads, right = len(judge.threads), len(judge.threads) - len(holds["ended wrong"])
    share = 100.0 * right / threads if threads else 0.0
    waited = {(line["thread"], line["checkpoint"]) for line in record.waited}
    hot = {"hot threads": judge.hot(), "hot steps seen waiting": len(waited)}
    sized = {"full threads": len(judge.full()), **hot, **hits}
    wanted = {"full threads": summary["threads"], "hot threads": summary["hot_threads"],
              "hot steps seen waiting": min(1, summary["hot_threads"]),
              **struck_of(summary["plan"], summary["hosts"])}  # fmt: skip
    short = [name for name, n in wanted.items() if sized[name] < n]
    several = summary["hosts"] > 1
    whole = all(
        sized[name] >= n for name, n in (WHOLE | (WHOLE_OF_HOSTS if several else {})).items()
    )
    # One wrong end in a thousand is within the budget; nothing else may be wrong even once.
    clean = not any(result for name, result in holds.items() if name != "ended wrong")
    of = Counter((t.agent, tasks.verdict(t.task)) for t in judge.threads.values() if t.task > 0)
    return {
        "row": ("B30" if several else "A07") if whole else None,
        "what": "threads that ended right although all around them was killed",
        "value": round(share, 3), "unit": "%", "baseline": None, "ratio": None,
        "budget": BUDGET, "ok": share >= BUDGET and clean and not short and not summary["trouble"],
        "goal": 100.0, "threads": threads, "ended_right": right,
        "full_threads": sized["full threads"],
        "of": {f"{agent}, {verdict}": n for (agent, verdict), n in sorted(of.items())},
        "of_trees": dict(sorted(judge.trees().items())),
        "of_hot": hot,
        "events": sum(len(t.events) for t in judge.threads.values()),
        "bank_calls": len(judge.calls), "bank_done": len(judge.by_key),
        "calls_repeated_with_their_key": sum(c["outcome"] == "replayed" for c in judge.calls),
        "mails": len(record.mails), "published": len(record.reports), "files": len(record.files),
        "half_written": len(record.half),
        "effects_tried_again": sum(e.attempts > 1 for t in judge.threads.values()
                                   for e in t.effects),
        "acknowledged": sum(a["command"] != "answer" for a in judge.acknowledged),
        "struck": hits, "short_of": short,
        "takeovers": judge.count("lease.taken_over"), "fenced": judge.count("step.fenced"),
        "retried_by_people": judge.count("thread.retried"),
        "longest_silence_seconds": round(silences[0][0], 1) if silences else 0.0,
        "wrong": {name: [str(one) for one in result[:5]] + [len(result)]
                  for name, result in holds.items() if result},
        **({"hosts": summary["hosts"], "clocks": summary["clocks"]} if several else {}),
        **{name: summary[name] for name in ("seed", "seconds", "verified", "trouble", "gave_up",
                                         "missed", "answers")},
    }  # fmt: skip


def struck_of(plan: dict[str, int], hosts: int) -> dict[str, int]:
    """What was planned, by the names of what is counted."""
    strikes = ({"kind": kind, "running": 1} for kind, n in plan.items() for _ in range(n))
    return struck(strikes, hosts)


def table(results: dict[str, Any], say: Callable[[str], None]) -> None:
    """The same for people."""
    rows: list[tuple[str, Any]] = [
        ("threads", f"{results['threads']:,}, of which {results['ended_right']:,} ended right "
                    f"({results['value']} %, at least {results['budget']})"),
        *((name, f"{n:,}") for name, n in results["of"].items()),
        *((name, f"{n:,}") for name, n in results["of_trees"].items()),
        *((name, f"{n:,}") for name, n in results["of_hot"].items()),
        ("of 10 steps, 2 effects, a gate", f"{results['full_threads']:,}"),
        *((name, f"{n:,}") for name, n in results["struck"].items()),
        ("calls at the bank", f"{results['bank_calls']:,} of {results['bank_done']:,} keys, "
                              f"{results['calls_repeated_with_their_key']:,} repeated"),
        ("mails / reports / files", f"{results['mails']:,} / {results['published']:,} / "
                                    f"{results['files']:,}"),
        ("effects tried again", f"{results['effects_tried_again']:,}"),
        ("commands acknowledged", f"{results['acknowledged']:,}"),
        ("events", f"{results['events']:,}, {results['verified']}"),
        ("takeovers / fenced", f"{results['takeovers']:,} / {results['fenced']:,}"),
        ("retried by people", f"{results['retried_by_people']:,}"),
        ("longest silence", f"{results['longest_silence_seconds']} s"),
        ("seed", results["seed"]),
        ("took", f"{results['seconds']:,} s"),
        *((f"WRONG: {name}", "; ".join(map(str, some))) for name, some in results["wrong"].items()),
        *((("SHORT OF", ", ".join(results["short_of"])),) if results["short_of"] else ()),
        *((("TROUBLE", results["trouble"]),) if results["trouble"] else ()),
    ]  # fmt: skip
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        say(f"{name:{width}}  {text}")


def main(arguments: list[str]) -> int:
    """Judge and tell; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.chaos.verdict")
    parser.add_argument("folder", type=Path)
    parser.add_argument("database")
    value = parser.parse_args(arguments)
    payload = json.loads((value.folder / "told.json").read_text())
    record = read(value.folder, value.database)
    result = judged(
        record,
        struck(lines(value.folder / "strikes.jsonl"), payload["hosts"]),
        payload,
        **{
            "clocks that were not as they should": wrong_clocks(record, payload),
            "files that hosts kept": kept_files(value.folder),
            "approvals used twice": of_approvals(value.database),
            "still running": still_running(value.database),
        },
    )
    table(result, lambda text: print(text, file=sys.stderr))
    print(json.dumps(result), flush=True)
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
