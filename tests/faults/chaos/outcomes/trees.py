"""The right end of each thread of a tree: sums, children once, successors, what a join names.

Worked out with the standard library from the tables and the lines that counters left; nothing of
the product is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.faults.chaos import tasks

from .record import Record, Thread

LEAD, COUNTER, HEIR = "chaos-lead", "chaos-counter", "chaos-heir"
RESEARCHER, WRITER = "chaos-researcher", "chaos-writer"
# Agents that people start, and those that only other threads start.
FIRST, LATER = (LEAD, RESEARCHER), (COUNTER, HEIR, WRITER)
HEIRS_EVERY = 4
TOOL = "chaos.count"


def square(task: int, number: int) -> int:
    """What a counter makes of a number."""
    return (task + number) ** 2


def hands_over(number: int) -> bool:
    """Whether the counter of this number has an heir."""
    return number % HEIRS_EVERY == 0


def wrong_end(thread: Thread, record: Record) -> str:
    """Why a thread of a tree did not end right; nothing when it did."""
    if thread.status != "succeeded":
        return f"is {thread.status}"
    if any(effect.state != "done" for effect in thread.effects):
        return f"has the effects {[(e.tool, e.state) for e in thread.effects]}"
    match thread.agent:
        case "chaos-lead":
            return _lead(thread, record)
        case "chaos-counter":
            return _counter(thread, record)
        case "chaos-researcher":
            if len(thread.effects) != 1 or thread.state["finding"] != square(_task(thread), 0):
                return "did not research once"
            return _successor(thread, record, WRITER)
        case "chaos-writer":
            right = square(_task(thread), 0) + square(_task(thread), 1)
            once = len(thread.effects) == 1 and thread.state["total"] == right
            return "" if once else "wrote something else"
        case _:
            return _counted(thread)


def _task(thread: Thread) -> int:
    return int(thread.state["task"])


def _lead(thread: Thread, record: Record) -> str:
    numbers = range(tasks.FAN_OUT)
    if thread.state["total"] != sum(square(_task(thread), number) for number in numbers):
        return f"added up {thread.state['total']}"
    below = [other for other in record.threads.values() if other.parent == thread.id]
    children = Counter((other.agent, other.state["number"]) for other in below)
    wanted = Counter({(COUNTER, n): 1 for n in numbers})
    wanted += Counter({(HEIR, n): 1 for n in numbers if hands_over(n)})
    if children != wanted:
        return f"has the children {sorted(children.items())}"
    joins = [data for _, kind, data, _ in thread.events if kind == "child.joined"]
    named = [child for data in joins for child in data["children"]]
    ends = {other.id for other in below if other.agent == HEIR or other.effects}
    if {child["thread"] for child in named} != ends or len(named) != len(ends):
        return "joined others than its children"
    return next((why for child in named if (why := _unlike(child, record))), "")


def _unlike(child: dict[str, str | int], record: Record) -> str:
    """What a join says of a child against the child's own record."""
    thread = record.threads[str(child["thread"])]
    same = (
        child["status"] == thread.status
        and child["checkpoint"] == thread.head
        and child["state_hash"] == thread.state_hashes.get(thread.head)
        and child["hash"] == thread.hashes.get(int(child["seq"]))
    )
    return "" if same else f"joined another end of {thread.id}"


def _counter(thread: Thread, record: Record) -> str:
    if not hands_over(int(thread.state["number"])):
        return _counted(thread)
    return "worked and handed over" if thread.effects else _successor(thread, record, HEIR)


def _counted(thread: Thread) -> str:
    right = square(_task(thread), int(thread.state["number"]))
    once = len(thread.effects) == 1 and thread.state["square"] == right
    return "" if once else "counted something else"


def _successor(thread: Thread, record: Record, agent: str) -> str:
    named = [data["thread"] for _, kind, data, _ in thread.events if kind == "thread.handed_off"]
    heirs = [(t.id, t.agent) for t in record.threads.values() if t.base == thread.id]
    return "" if heirs == [(ident, agent) for ident in named] and len(named) == 1 else (
        f"handed over to {named}, and {heirs} went on"
    )  # fmt: skip


def odd_counts(record: Record) -> Iterator[str]:
    """Numbers that were counted under several keys, or under one that no effect has."""
    effects = {e.key for t in record.threads.values() for e in t.effects if e.tool == TOOL}
    keys = {(line["task"], line["number"], line["key"]) for line in record.counts}
    times = Counter((task, number) for task, number, _ in keys)
    yield from (
        f"{n} keys of {number} in tree {task}" for (task, number), n in times.items() if n > 1
    )
    yield from sorted(f"a count of no effect: {key}" for *_, key in keys if key not in effects)
