"""`python -m tests.chaos.verdict FOLDER DATABASE`: what came of it, from outside.

Reads the bank's book, the files of what was acknowledged and of what struck, and the tables by
plain SQL; nothing of the product is imported. Only the hash chains are verified by the product's
own command. The right end of each thread follows from its task (tasks.py). Prints a table and one
line of JSON; 0 when all holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from . import tasks

BUDGET = 99.9  # per cent of threads that end right; the goal is 100
SILENCE_SECONDS = 20.0
# What must have struck before the figure may stand for row A07.
WHOLE = {
    "threads": 1_000, "kills": 200, "stops": 20, "valkey kills": 5, "valkey flushes": 5,
    "postgres restarts": 5,
}  # fmt: skip
# Happens once per thing: (kind of event, what names the thing in it).
ONCE = {
    "checkpoint.committed": "checkpoint",
    "activity.finished": "activity",
    "effect.finished": "activity",
    "approval.requested": "approval",
    "approval.decided": "approval",
}
LEASED = ("lease.acquired", "lease.taken_over")
LEFT = (
    "thread.handed_back", "thread.suspended", "thread.slept", "thread.paused", "thread.succeeded",
    "thread.failed", "thread.cancelled", "thread.parked",
)  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


@dataclass
class Thread:
    """One thread as the tables have it."""

    id: str
    status: str
    last_seq: int
    head: str
    state: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    checkpoints: list[str] = field(default_factory=list)
    events: list[tuple[int, str, dict[str, Any], float]] = field(default_factory=list)
    effects: list[tuple[str, str, int, str | None]] = field(default_factory=list)

    @property
    def task(self) -> int:
        return int(self.state.get("task", -1))


def apply(state: dict[str, Any], delta: dict[str, Any]) -> None:
    """What a checkpoint changed, as the format of deltas says."""
    state.update(delta.get("set", {}))
    for channel, items in delta.get("append", {}).items():
        state[channel] = [*state.get(channel, []), *items]
    for channel, members in delta.get("merge", {}).items():
        state[channel] = {**state.get(channel, {}), **members}
    for channel in delta.get("unset", []):
        state.pop(channel, None)


def read(database: str) -> dict[str, Thread]:
    """All threads with their past."""
    found: dict[str, Thread] = {}
    with psycopg.connect(database) as connection:
        for row in connection.execute(
            "SELECT id::text, status, last_seq, head::text FROM gp_thread"
        ):
            found[row[0]] = Thread(*row)
        for thread, ident, source, delta in connection.execute(
            "SELECT thread_id::text, id::text, source, delta FROM gp_checkpoint "
            "ORDER BY thread_id, number"
        ):
            at = found[thread]
            apply(at.state, delta)
            at.checkpoints.append(ident)
            at.steps += source == "step"
        for thread, seq, kind, data, when in connection.execute(
            "SELECT thread_id::text, seq, kind, data, extract(epoch FROM at)::float8 "
            "FROM gp_event ORDER BY thread_id, seq"
        ):
            found[thread].events.append((seq, kind, data, when))
        for thread, *effect in connection.execute(
            "SELECT thread_id::text, tool, idempotency_key, attempts, approval_id::text, state "
            "FROM gp_activity WHERE kind = 'effect'"
        ):
            found[thread].effects.append(tuple(effect))
    return found


@dataclass
class Judge:
    """Each finding is a list of what is wrong; empty lists are what is wanted."""

    threads: dict[str, Thread]
    bank: list[dict[str, Any]]
    acknowledged: list[dict[str, Any]]

    def __post_init__(self) -> None:
        self.by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.keys: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for call in self.bank:
            self.by_key[call["key"]].append(call)
            self.keys[call["task"]][call["what"]].add(call["key"])

    # ---- ends ----

    def wrong_end(self, thread: Thread) -> str:
        """Why a thread did not end right; nothing when it did."""
        task, keys = thread.task, self.keys[thread.task]
        wanted = tasks.calls(task)
        if thread.status != "succeeded":
            return f"is {thread.status}"
        if set(keys) != set(wanted):
            return f"did {sorted(keys)} at the bank instead of {sorted(wanted)}"
        for what, amount in wanted.items():
            calls = [call for key in keys[what] for call in self.by_key[key]]
            if len(keys[what]) != 1 or [c["came"] for c in calls].count("done") != 1:
                return f"did {what} more than once"
            if {call["amount"] for call in calls} != {amount}:
                return f"did {what} with another amount"
        bank = str(thread.state.get("bank"))
        right = tasks.right_state(task, bank, {what: min(keys[what]) for what in wanted})
        if thread.state != right:
            odd = sorted(k for k in right if thread.state.get(k) != right[k])
            return f"ended with other values of {', '.join(odd) or 'strange channels'}"
        if thread.steps != tasks.STEPS or thread.checkpoints[-1] != thread.head:
            return f"made {thread.steps} steps"
        done = {(effect[1], effect[4]) for effect in thread.effects}
        if done != {(min(keys[what]), "done") for what in wanted}:
            return "has other effects on record than the bank"
        return ""

    def ended_wrong(self) -> list[str]:
        return [f"{t.id} (task {t.task}) {why}" for t in self.threads.values()
                if (why := self.wrong_end(t))]  # fmt: skip

    # ---- effects ----

    def doubled(self) -> list[str]:
        """Keys that the bank carried out twice, or was told with another body."""
        return [
            key for key, calls in self.by_key.items()
            if [c["came"] for c in calls].count("done") != 1
            or any(c["came"] == "other" for c in calls)
        ]  # fmt: skip

    def several_keys(self) -> list[str]:
        """Places of effects that the bank knows by more than one key."""
        return [
            f"task {task}: {what}" for task, whats in self.keys.items()
            for what, keys in whats.items() if len(keys) > 1
        ]  # fmt: skip

    def unrecorded(self) -> list[str]:
        """What the bank did for a key that no effect of a thread has."""
        recorded = {effect[1] for t in self.threads.values() for effect in t.effects}
        return sorted(set(self.by_key) - recorded)

    # ---- the log ----

    def lost(self) -> list[str]:
        """Acknowledged commands that are not in the log of their thread, as often as they were."""
        wanted: dict[str, Counter[str]] = defaultdict(Counter)
        missing = []
        for line in self.acknowledged:
            command, thread = line["command"], self.threads.get(line.get("thread", ""))
            if command == "answer":
                continue
            if thread is None:
                missing.append(f"{command}: no thread {line.get('thread')}")
                continue
            wanted[thread.id][command] += 1
            if command == "start" and thread.task != line["task"]:
                missing.append(f"start of task {line['task']}: {thread.id} does another")
            if command == "decide" and not any(
                kind == "approval.decided" and data.get("approval") == line["approval"]
                and data.get("outcome", data.get("verdict")) == line["verdict"]
                for _, kind, data, _ in thread.events
            ):  # fmt: skip
                missing.append(f"decision of {line['approval']}")
        kinds = {
            "start": ("thread.started",), "retry": ("thread.retried",),
            "resume": ("thread.resumed",), "pause": ("pause.requested", "thread.paused"),
        }  # fmt: skip
        for ident, counted in wanted.items():
            have = Counter(kind for _, kind, _, _ in self.threads[ident].events)
            for command, times in counted.items():
                if command in kinds and sum(have[k] for k in kinds[command]) < times:
                    missing.append(f"{command} of {ident}")
        return missing

    def started_twice(self) -> list[str]:
        counted = Counter(thread.task for thread in self.threads.values())
        return [f"task {task}" for task, times in counted.items() if times != 1]

    def gaps(self) -> list[str]:
        return [t.id for t in self.threads.values()
                if [e[0] for e in t.events] != list(range(1, t.last_seq + 1))]  # fmt: skip

    def said_twice(self) -> list[str]:
        """Events that happen once per thing and stand there twice."""
        counted = Counter(
            (kind, data.get(ONCE[kind]))
            for t in self.threads.values() for _, kind, data, _ in t.events if kind in ONCE
        )  # fmt: skip
        return [f"{kind} {what}" for (kind, what), times in counted.items() if times > 1]

    def failed(self) -> list[str]:
        """Steps that failed: nothing that an agent calls was ever struck."""
        return [
            f"{t.id}: {data.get('error')}"
            for t in self.threads.values()
            for _, kind, data, _ in t.events
            # What is noted of a slot that was lost is no failure of its step.
            if kind == "step.failed" and not data.get("lost")
        ]

    def silences(self) -> list[tuple[float, str]]:
        """(seconds, thread) without a word while it was running, longest first."""
        found = []
        for thread in self.threads.values():
            running, before = False, 0.0
            for _, kind, _, when in thread.events:
                if running:
                    found.append((when - before, thread.id))
                running = (running or kind in LEASED) and kind not in LEFT
                before = when
        return sorted(found, reverse=True)

    def count(self, *kinds: str) -> int:
        return sum(e[1] in kinds for t in self.threads.values() for e in t.events)


def still_running(database: str) -> list[str]:
    """Threads that are running, or are leased without running, now that all is quiet."""
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT id::text FROM gp_thread WHERE status IN ('running', 'rolling_back') "
            "OR lease_token IS NOT NULL"
        ).fetchall()
    return [row[0] for row in found]


def of_approvals(database: str) -> list[str]:
    """Approvals with more than one decision or more than one effect."""
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT a.id::text FROM gp_approval a WHERE "
            "(SELECT count(*) FROM gp_decision d WHERE d.approval_id = a.id) > 1 OR "
            "(SELECT count(*) FROM gp_activity x WHERE x.approval_id = a.id) > 1"
        ).fetchall()
    return [row[0] for row in found]


def struck(strikes: Iterable[dict[str, Any]]) -> dict[str, int]:
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
        "postgres restarts": by_kind["postgres_fast"] + by_kind["postgres_immediate"],
        "postgres restarts (immediate)": by_kind["postgres_immediate"],
    }


def judged(folder: Path, database: str, told: dict[str, Any]) -> dict[str, Any]:
    """The line of JSON. `told` has what only the driver knows: seed, sizes, seconds, chains."""
    judge = Judge(read(database), lines(folder / "bank.jsonl"), lines(folder / "acks.jsonl"))
    hits = struck(lines(folder / "strikes.jsonl"))
    silences = judge.silences()
    holds: dict[str, list[Any]] = {
        "ended wrong": judge.ended_wrong(),
        "started twice": judge.started_twice(),
        "doubled under one key": judge.doubled(),
        "several keys for one place": judge.several_keys(),
        "at the bank, not on record": judge.unrecorded(),
        "acknowledged, not in the log": judge.lost(),
        "gaps in the log": judge.gaps(),
        "events that stand twice": judge.said_twice(),
        "steps that failed": judge.failed(),
        "approvals used twice": of_approvals(database),
        "still running": still_running(database),
        f"silent over {SILENCE_SECONDS:.0f} s": [s for s in silences if s[0] > SILENCE_SECONDS],
        "answers 5xx that are no 503": [a for a in judge.acknowledged if a["command"] == "answer"],
        "chains that do not verify": told["broken"],
    }
    threads, right = len(judge.threads), len(judge.threads) - len(holds["ended wrong"])
    share = 100.0 * right / threads if threads else 0.0
    sized = {"threads": threads, **hits}
    wanted = {"threads": told["threads"], **struck_of(told["plan"])}
    short = [name for name, n in wanted.items() if sized[name] < n]
    whole = all(sized[name] >= n for name, n in WHOLE.items())
    # One wrong end in a thousand is within the budget; nothing else may be wrong even once.
    clean = not any(found for name, found in holds.items() if name != "ended wrong")
    return {
        "row": "A07" if whole else None,
        "what": "threads that ended right although all around them was killed",
        "value": round(share, 3), "unit": "%", "baseline": None, "ratio": None,
        "budget": BUDGET, "ok": share >= BUDGET and clean and not short and not told["trouble"],
        "goal": 100.0, "threads": threads, "ended_right": right,
        "events": sum(len(t.events) for t in judge.threads.values()),
        "bank_calls": len(judge.bank), "bank_done": len(judge.by_key),
        "calls_repeated_with_their_key": sum(call["came"] == "again" for call in judge.bank),
        "acknowledged": sum(a["command"] != "answer" for a in judge.acknowledged),
        "struck": hits, "short_of": short,
        "takeovers": judge.count("lease.taken_over"), "fenced": judge.count("step.fenced"),
        "retried_by_people": judge.count("thread.retried"),
        "longest_silence_seconds": round(silences[0][0], 1) if silences else 0.0,
        "wrong": {name: [str(one) for one in found[:5]] + [len(found)]
                  for name, found in holds.items() if found},
        **{name: told[name] for name in ("seed", "seconds", "verified", "trouble", "gave_up",
                                         "missed", "answers")},
    }  # fmt: skip


def struck_of(plan: dict[str, int]) -> dict[str, int]:
    """What was planned, by the names of what is counted."""
    return struck({"kind": kind, "running": 1} for kind, n in plan.items() for _ in range(n))


def table(found: dict[str, Any], say: Callable[[str], None]) -> None:
    """The same for people."""
    rows: list[tuple[str, Any]] = [
        ("threads", f"{found['threads']:,}, of which {found['ended_right']:,} ended right "
                    f"({found['value']} %, at least {found['budget']})"),
        *((name, f"{n:,}") for name, n in found["struck"].items()),
        ("calls at the bank", f"{found['bank_calls']:,} of {found['bank_done']:,} keys, "
                              f"{found['calls_repeated_with_their_key']:,} repeated"),
        ("commands acknowledged", f"{found['acknowledged']:,}"),
        ("events", f"{found['events']:,}, {found['verified']}"),
        ("takeovers / fenced", f"{found['takeovers']:,} / {found['fenced']:,}"),
        ("retried by people", f"{found['retried_by_people']:,}"),
        ("longest silence", f"{found['longest_silence_seconds']} s"),
        ("seed", found["seed"]),
        ("took", f"{found['seconds']:,} s"),
        *((f"WRONG: {name}", "; ".join(map(str, some))) for name, some in found["wrong"].items()),
        *((("SHORT OF", ", ".join(found["short_of"])),) if found["short_of"] else ()),
        *((("TROUBLE", found["trouble"]),) if found["trouble"] else ()),
    ]  # fmt: skip
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        say(f"{name:{width}}  {text}")


def main(arguments: list[str]) -> int:
    """Judge and tell; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.verdict")
    parser.add_argument("folder", type=Path)
    parser.add_argument("database")
    given = parser.parse_args(arguments)
    told = json.loads((given.folder / "told.json").read_text())
    found = judged(given.folder, given.database, told)
    table(found, lambda text: print(text, file=sys.stderr))
    print(json.dumps(found), flush=True)
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
