"""What each task is: a number, from which follow its agent, its files and what people say to it.

Pure, shared by who starts them and who judges them, so that the verdict need not ask the product.
Of eleven tasks in a row nine are payments that are paid, one is a payment that is rejected and one
is a report.
"""

from __future__ import annotations

import re
from typing import Any

PAYMENTS, RESEARCH = "payments", "market-research"
# Beside every so many tasks somebody starts a tree: by turns a lead and a researcher (tree_agents).
TREE_EVERY, FAN_OUT, AT_MOST = 12, 8, 3
CYCLE = 11
REJECTED = 7  # within the cycle
# Beside every so many tasks somebody starts a hot thread (hot_agents); its task counts from here.
HOT_EVERY, HOT_FROM = 8, 100_000
HOT_STEPS, HOT_COUNT_EVERY, HOT_ASKS_AT = 600, 100, 300
# Nodes that a thread goes through: a rejected payment ends without pay and mail.
STEPS_PAID, STEPS_REJECTED, STEPS_REPORT = 12, 10, 6
# What a thread must have to count among the threads that were asked for.
FULL_STEPS, FULL_EFFECTS = 10, 2


def agent(task: int) -> str:
    """Who works on it."""
    return PAYMENTS if task % CYCLE else RESEARCH


def verdict(task: int) -> str:
    """What the manager says at the gate; hot threads have tasks below 0."""
    if task < 0:
        return "approve"
    if agent(task) == RESEARCH:
        return "reject" if task % (4 * CYCLE) == 0 else "approve"
    return "reject" if task % CYCLE == REJECTED else "approve"


def full(task: int) -> bool:
    """Whether it takes at least ten steps, two effects and a gate."""
    return task > 0 and agent(task) == PAYMENTS and verdict(task) == "approve"


def needed(fulls: int) -> int:
    """So many tasks hold so many full ones; the rejected and the reports come on top."""
    cycles, rest = divmod(fulls, CYCLE - 2)
    return cycles * CYCLE + rest + (rest >= REJECTED)


def paused(task: int) -> bool:
    """Whether an operator stops it in between and lets it go on."""
    return task % 16 == 5


def tree(number: int) -> dict[str, Any]:
    """Agent and input of the tree of this number, from 1 on."""
    if number % 2 == 0:
        return {"agent": "chaos-researcher", "input": {"task": number}}
    at_most = AT_MOST if number % 4 == 3 else None
    values = {"task": number, "fan_out": FAN_OUT, "at_most": at_most}
    return {"agent": "chaos-lead", "input": values}


def hot(number: int) -> dict[str, Any]:
    """Agent and input of the hot thread of this number, from 1 on."""
    values = {
        "task": HOT_FROM + number,
        "until": HOT_STEPS,
        "count_every": HOT_COUNT_EVERY,
        "asks_at": HOT_ASKS_AT,
    }
    return {"agent": "chaos-hot", "input": values}


def with_others(begun: int) -> int:
    """So many threads people start when they begin so many tasks: trees and hot ones as well."""
    return begun + begun // TREE_EVERY + begun // HOT_EVERY


def paused_other(number: int) -> bool:
    """Whether an operator stops a whole tree, or a hot thread, in between and lets it go on."""
    return number % 3 == 1


def comment(task: int) -> str:
    """What the manager writes to the verdict."""
    return f"Looked at task {task}"


def steps(task: int) -> int:
    """How many steps its thread takes."""
    if agent(task) == RESEARCH:
        return STEPS_REPORT
    return STEPS_PAID if full(task) else STEPS_REJECTED


def file_name(what: str, task: int) -> str:
    """What an uploaded file is called."""
    return f"{what}-{task}.csv"


def task_of(name: str) -> int:
    """The task that a file is of; -1 for any other file."""
    match = re.fullmatch(r"[a-z]+-(\d+)\.csv", name)
    return int(match[1]) if match else -1
