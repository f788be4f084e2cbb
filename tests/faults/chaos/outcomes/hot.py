"""The right end of each hot thread, and every step that was seen waiting in the hot store.

Worked out with the standard library; nothing of the product is imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults.chaos import tasks

from .record import Record, Thread
from .trees import TOOL, square

AGENT = "chaos-hot"


def wrong_end(thread: Thread) -> str:
    """Why a hot thread did not end right; nothing when it did."""
    state, values = thread.state, tasks.hot(-thread.task - tasks.HOT_FROM)["input"]
    if thread.status != "succeeded":
        return f"is {thread.status}"
    if any(state[name] != value for name, value in values.items()):
        return "was started with something else"
    if state["log"] != list(range(tasks.HOT_STEPS)) or state["n"] != tasks.HOT_STEPS:
        return f"made the steps {state['log'][:3]} .. {state['log'][-3:]}, {len(state['log'])}"
    counts = range(tasks.HOT_COUNT_EVERY, tasks.HOT_STEPS + 1, tasks.HOT_COUNT_EVERY)
    if state["sum"] != sum(square(values["task"], n) for n in counts):
        return f"added up {state['sum']}"
    if [(e.tool, e.state) for e in thread.effects] != [(TOOL, "done")] * len(counts):
        return f"has the effects {[(e.tool, e.state) for e in thread.effects]}"
    if thread.steps != tasks.HOT_STEPS + len(counts):
        return f"has {thread.steps} steps in PostgreSQL"
    decided = [kind for _, kind, _, _ in thread.events if kind == "approval.decided"]
    return "" if len(decided) == 1 else f"was decided {len(decided)} times"


def lost_steps(record: Record) -> Iterator[str]:
    """Steps that the hot store had acknowledged and PostgreSQL has not, or has otherwise."""
    for line in record.waited:
        thread = record.threads.get(line["thread"])
        hashed = thread.state_hashes.get(line["checkpoint"]) if thread else None
        if hashed != line["state_hash"]:
            how = "is not there" if hashed is None else "has another state"
            yield f"step {line['number']} of {line['thread']} {how}"
    for thread in record.threads.values():
        if any(kind == "steps.lost" for _, kind, _, _ in thread.events):
            yield f"{thread.id} says that steps were lost"
