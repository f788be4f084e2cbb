"""What must not be: each finding of the judge is a list of what is wrong; empty ones are wanted."""

from __future__ import annotations

import email
import email.policy
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from tests.faults.chaos import tasks

from . import hot, payables, trees
from .record import Record, Thread
from .rights import wrong_end

# Happens once per thing: (kind of event, what names the thing in it).
ONCE = {
    "checkpoint.committed": "checkpoint",
    "activity.finished": "activity",
    "model.answered": "activity",
    "effect.finished": "activity",
    "approval.requested": "approval",
    "approval.decided": "approval",
}
LEASED = ("lease.acquired", "lease.taken_over")
LEFT = (
    "thread.handed_back", "thread.suspended", "thread.slept", "thread.paused", "thread.succeeded",
    "thread.failed", "thread.cancelled", "thread.parked",
)  # fmt: skip
FINE = ("done", "replayed")


@dataclass
class Judge:
    """Looks at the record only."""

    record: Record

    def __post_init__(self) -> None:
        self.threads = self.record.threads
        self.acknowledged = self.record.acknowledged
        # What was paid before the chaos is evidence too, but no work of a thread.
        self.calls = [
            line for line in self.record.bank
            if line["outcome"] != "opened" and not line["key"].startswith(payables.BEFORE_KEY)
        ]  # fmt: skip
        self.done = {line["key"]: line for line in self.record.bank if line["outcome"] == "done"}
        self.by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for call in self.calls:
            self.by_key[call["key"]].append(call)
        self.recorded = {e.key for t in self.threads.values() for e in t.effects}

    # ---- ends ----

    def ended_wrong(self) -> list[str]:
        return [f"{t.id} (task {t.task}) {why}" for t in self.threads.values()
                if (why := wrong_end(t, self.record, self.done))]  # fmt: skip

    def full(self) -> list[Thread]:
        """Threads that ended right after at least ten steps, two effects and a gate."""
        return [
            t for t in self.threads.values()
            if t.steps >= tasks.FULL_STEPS
            and sum(e.state == "done" for e in t.effects) >= tasks.FULL_EFFECTS
            and any(kind == "approval.decided" for _, kind, _, _ in t.events)
            and not wrong_end(t, self.record, self.done)
        ]  # fmt: skip

    # ---- the bank ----

    def doubled(self) -> list[str]:
        """Keys that the bank carried out twice, or was told with another body."""
        return [
            key for key, calls in self.by_key.items()
            if [c["outcome"] for c in calls].count("done") != 1
            or len({(c["op"], c["body_sha256"]) for c in calls}) > 1
        ]  # fmt: skip

    def several_keys(self) -> list[str]:
        """What the bank did under more than one key: reservations of a thread, payments of one."""
        done = [call for call in self.calls if call["outcome"] == "done"]
        counted = Counter(
            (call["op"], call["body"].get("reference") or call["body"].get("reservation"))
            for call in done
        )
        bills = Counter(
            (one["supplier"], one["invoice"])
            for call in done for one in call["body"].get("payments", ())
        )  # fmt: skip
        return [f"{what[0]} {what[1]}" for what, n in (counted + bills).items() if n > 1]

    def odd_calls(self) -> list[str]:
        """Calls that the bank did not carry out, and operations that nobody was to ask for."""
        return [
            f"{call['op']} {call['key'][:12]}: {call['outcome']}" for call in self.calls
            if call["outcome"] not in FINE or call["op"] not in ("reserve", "pay")
        ]  # fmt: skip

    def unrecorded(self) -> list[str]:
        """What the bank did for a key that no effect of a thread has."""
        return sorted(set(self.by_key) - self.recorded)

    def money(self) -> list[str]:
        """The sums that were reserved and paid against those of all tasks that are paid."""
        due = sum(payables.total(payables.paid(t.task))
                  for t in self.threads.values() if tasks.full(t.task))  # fmt: skip
        moved = {
            op: sum(payables.in_cents(call["answer"]["total"]) for call in self.calls
                    if call["outcome"] == "done" and call["op"] == op)
            for op in ("reserve", "pay")
        }  # fmt: skip
        return [f"{op}: {payables.shown(sum_)} instead of {payables.shown(due)}"
                for op, sum_ in moved.items() if sum_ != due]  # fmt: skip

    # ---- the folders ----

    def odd_mails(self) -> list[str]:
        """Mails that no thread names, and suppliers who were written to more than once."""
        names = {m["file"] for t in self.threads.values() for m in t.state.get("mails") or ()}
        to = Counter(
            email.message_from_bytes(raw, policy=email.policy.default)["To"]
            for raw in self.record.mails.values()
        )
        return [*sorted(set(self.record.mails) - names),
                *(f"{n} mails to {who}" for who, n in to.items() if n > 1)]  # fmt: skip

    def odd_reports(self) -> list[str]:
        """Published folders of no effect, and reports that were published more than once."""
        result = self.record.reports
        keys = Counter(report.key for report in result.values())
        texts = Counter(report.there.get("report.md") for report in result.values())
        return [
            *(slug for slug, report in result.items() if report.key not in self.recorded),
            *(f"{n} folders of {key[:12]}" for key, n in keys.items() if n > 1),
            *(f"{n} folders with the report {text}" for text, n in texts.items() if n > 1),
        ]

    # ---- the log ----

    def lost(self) -> list[str]:
        """Acknowledged commands that are not in the log of their thread, as often as they were."""
        wanted: dict[str, Counter[str]] = defaultdict(Counter)
        missing = []
        for line in self.acknowledged:
            command, thread = line["command"], self.threads.get(line.get("thread", ""))
            if command == "answer":
                continue
            if command == "upload":
                if line["sha256"] not in self.record.files:
                    missing.append(f"file {line['sha256']} of task {line['task']}")
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
        counted = Counter(
            thread.task for thread in self.threads.values() if thread.agent not in trees.LATER
        )
        return [f"task {task}" for task, times in counted.items() if times != 1]

    def odd_counts(self) -> list[str]:
        """What the trees counted more than once."""
        return list(trees.odd_counts(self.record))

    def trees(self) -> Counter[str]:
        """How many threads of trees there are, by agent."""
        named = (t.agent for t in self.threads.values() if t.task < 0)
        return Counter(agent for agent in named if agent != hot.AGENT)

    def hot(self) -> int:
        """How many hot threads ended right."""
        return sum(t.agent == hot.AGENT and not hot.wrong_end(t) for t in self.threads.values())

    def lost_steps(self) -> list[str]:
        return list(hot.lost_steps(self.record))

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
        """(seconds, between what) without a word while it was running, longest first."""
        results = []
        for thread in self.threads.values():
            running, before, last = False, 0.0, ""
            for seq, kind, _, when in thread.events:
                if running:
                    between = f"{thread.agent} {thread.id}, event {seq}: {last} .. {kind}"
                    results.append((when - before, between))
                running = (running or kind in LEASED) and kind not in LEFT
                before, last = when, kind
        return sorted(results, reverse=True)

    def count(self, *kinds: str) -> int:
        return sum(e[1] in kinds for t in self.threads.values() for e in t.events)
