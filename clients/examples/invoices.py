"""python invoices.py MONTH: a payment waits for a person, and a killed script continues.

Three lines put the script under control; a fourth keeps what the first step found out.
"""

import os
import sys
from pathlib import Path

from gatepost_client import agent, effect, step  # 1


@step  # 4
def add_up(month: str) -> int:
    """A step: done once, then its answer is on record."""
    print(f"adding up {month}", flush=True)
    return 42


@effect(approve="Pay {amount} EUR?")  # 2
def pay(amount: int, key: str = "") -> dict[str, int]:
    """An effect: people are asked first, then it is made once."""
    with Path(os.environ.get("LEDGER", "paid.txt")).open("a") as ledger:
        ledger.write(f"{amount} {key}\n")
    return {"paid": amount}


@agent("invoices-in-python", thread="{month}")  # 3
def main(month: str) -> dict[str, int]:
    """Pay what is due."""
    return pay(add_up(month))


if __name__ == "__main__":
    print("ended:", main(sys.argv[1]))
