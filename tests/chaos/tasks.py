"""What each task is and how it must end; pure, shared by who starts them and who judges them.

A task is a number. What a thread shall have done follows from it alone, so that the verdict need
not ask the product.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

AGENT = "chaos"
TURNS = 8
STEPS = TURNS + 4  # open, turn x 8, reserve, pay, close


def reckoned(task: int, turn: int) -> int:
    """What a turn works out."""
    return int.from_bytes(sha256(f"{task}/{turn}".encode()).digest()[:4])


def amount(task: int) -> int:
    """What is paid, in minor units."""
    return 100 + task


def verdict(task: int) -> str:
    """What the manager says to the payment."""
    return "reject" if task % 10 == 7 else "approve"


def paused(task: int) -> bool:
    """Whether an operator stops it in between and lets it go on."""
    return task % 16 == 5


def calls(task: int) -> dict[str, int]:
    """{what the bank has to have done once: the amount}."""
    second = "pay" if verdict(task) == "approve" else "release"
    return {"reserve": amount(task), second: amount(task)}


def receipt(key: str) -> str:
    """What the bank answers to a key, however often it is asked."""
    return f"R-{sha256(key.encode()).hexdigest()[:12]}"


def right_state(task: int, bank: str, keys: dict[str, str]) -> dict[str, Any]:
    """The state at the end; `keys` {what: key} as the bank was told them."""
    approved = verdict(task) == "approve"
    return {
        "task": task,
        "bank": bank,
        "at": TURNS,
        "sums": [reckoned(task, turn) for turn in range(1, TURNS + 1)],
        "reserved": receipt(keys["reserve"]),
        "outcome": "paid" if approved else "kept",
        "receipt": receipt(keys["pay" if approved else "release"]),
        "closed": sum(reckoned(task, turn) for turn in range(1, TURNS + 1)) % 997,
    }
